/* SPDX-License-Identifier: BSD-3-Clause */
/* zs_feed: what was populated ahead, and the reserve, serve without a word to
 * the kernel; whoever feeds is told in time; the rest is as without it.
 */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <time.h>

#include "pool-fixture.h"

#define NR_CHUNKS  64
#define NR_OBJECTS 20000
#define RESERVE    8
/* No multiple of most chain lengths. */
#define AHEAD    113

#define FOR_EVER UINT_MAX /* ms */

/* Payloads whose classes have zspages of various lengths, and a huge one. */
static const size_t lens[] = {20, 100, 1000, 1500, 2000, 2500, 3000, 4096};

static int
feed_all (struct zs_pool *pool)
{
  bool more;
  int r;

  do
    r = zs_feed (pool, &more);
  while (r == 0 && more);
  return r;
}

static void
init_fed (struct pool_fixture *f, unsigned patience_ms)
{
  pool_fixture_init_ahead (f, 8, NR_CHUNKS, NR_OBJECTS, RESERVE, AHEAD,
                           patience_ms);
  assert_int_equal (feed_all (f->pool), 0);
}

/* Put until it fails; returns the pages that are used then. */
static size_t
fill (struct pool_fixture *f, size_t len, uint32_t *n)
{
  int r;

  for (*n = 0; (r = pool_put (f, *n, len)) == 0;)
    ++*n;
  assert_int_equal (r, -ENOMEM);
  return pool_stats (f).pages_used;
}

static void
what_is_fed_and_the_reserve_need_no_kernel (void **state)
{
  struct pool_fixture f;
  uint32_t n;
  size_t i, pages;

  (void) state;
  for (i = 0; i < NELEM (lens); ++i) {
    init_fed (&f, FOR_EVER);
    fake_os_fail_populate_at (&f.os, 1);
    pages = fill (&f, lens[i], &n);
    assert_in_range (pages, AHEAD + RESERVE, AHEAD + RESERVE + 8);
    assert_int_equal (pool_stats (&f).reserve_pages, 1); /* the bounce page */
    fake_os_fail_populate_at (&f.os, 0);
    pool_check (&f);
    pool_fixture_fini (&f);
  }
}

/* Put objects for as long as the kernel is not asked. */
static uint32_t
put_without_kernel (struct pool_fixture *f, size_t len)
{
  uint32_t n = 0;

  fake_os_fail_populate_at (&f->os, SIZE_MAX); /* counts */
  while (f->os.populate_calls == 0)
    assert_int_equal (pool_put (f, n++, len), 0);
  return n;
}

/* If feeding gets on, objects are as large as they need to be. */
static void
who_feeds_slowly_wastes_nothing (void **state)
{
  struct pool_fixture f;

  (void) state;
  init_fed (&f, FOR_EVER);
  put_without_kernel (&f, 3000);
  assert_in_range (pool_stats (&f).pages_used, AHEAD, AHEAD + 8);
  assert_int_equal (pool_stats (&f).reserve_pages, RESERVE + 1);
  assert_in_range (pool_stats (&f).pages_used_max, AHEAD, AHEAD + 8);
  pool_check (&f);
  pool_fixture_fini (&f);
}

/* If it does not, all that is there is used before the kernel is asked. */
static void
who_is_stuck_is_not_waited_for (void **state)
{
  struct pool_fixture f;
  /* Of the coarse clock. */
  const struct timespec tick = {.tv_nsec = 20 * 1000000};
  uint32_t n = 0;
  size_t most;

  (void) state;
  init_fed (&f, 0);
  most = pool_stats (&f).stock_pages + RESERVE;
  while (f.hungry == 0)
    assert_int_equal (pool_put (&f, n++, 1000), 0);
  nanosleep (&tick, NULL);
  while (n > 0)
    pool_drop (&f, --n);
  put_without_kernel (&f, 1000);
  assert_true (pool_stats (&f).pages_used > most);
  assert_int_equal (pool_stats (&f).reserve_pages, 1); /* the bounce page */
  pool_check (&f);
  pool_fixture_fini (&f);
}

static void
whoever_feeds_is_told_early (void **state)
{
  struct pool_fixture f;
  uint32_t n = 0;

  (void) state;
  init_fed (&f, FOR_EVER);
  while (f.hungry == 0)
    assert_int_equal (pool_put (&f, n++, ZSPAGE_PAGE_SIZE), 0);
  assert_int_equal (n, AHEAD / 4 + 1);
  assert_int_equal (feed_all (f.pool), 0);
  f.hungry = 0;
  assert_int_equal (pool_put (&f, n, ZSPAGE_PAGE_SIZE), 0);
  assert_int_equal (f.hungry, 0);
  pool_fixture_fini (&f);
}

static void
feeding_again_makes_up_for_what_was_taken (void **state)
{
  struct zs_pool_stats fed, again;
  struct pool_fixture f;
  uint32_t n;

  (void) state;
  init_fed (&f, FOR_EVER);
  fed = pool_stats (&f);
  fake_os_fail_populate_at (&f.os, 1);
  fill (&f, 1000, &n);
  /* And while the kernel refuses, feeding loses nothing. */
  assert_int_equal (feed_all (f.pool), -ENOMEM);
  fake_os_fail_populate_at (&f.os, 0);
  pool_check (&f);
  assert_int_equal (feed_all (f.pool), 0);
  again = pool_stats (&f);
  assert_int_equal (again.reserve_pages, fed.reserve_pages);
  assert_true (again.stock_pages >= fed.stock_pages);
  /* There is enough: nothing happens. */
  assert_int_equal (feed_all (f.pool), 0);
  assert_int_equal (pool_stats (&f).stock_pages, again.stock_pages);
  while (n > 0)
    pool_drop (&f, --n);
  pool_check (&f);
  pool_fixture_fini (&f);
}

/* Nor is it taken to make up for what other chain lengths have too much of. */
static void
stock_that_was_fed_is_no_excess (void **state)
{
  struct pool_fixture f;
  bool had_excess = false;
  uint32_t n;
  size_t i;

  (void) state;
  init_fed (&f, FOR_EVER);
  assert_int_equal (zs_excess_stock (f.pool), 0);
  for (n = 0; n < 12000; ++n) {
    assert_int_equal (pool_put (&f, n, 1500), 0);
    assert_int_equal (feed_all (f.pool), 0);
  }
  while (n > 500) {
    pool_drop (&f, --n);
    had_excess |= zs_excess_stock (f.pool) > 0;
  }
  assert_true (had_excess);
  zs_trim_excess (f.pool, SIZE_MAX);
  assert_int_equal (zs_excess_stock (f.pool), 0);
  assert_int_equal (feed_all (f.pool), 0);
  pool_check (&f);

  /* Each still has its own. */
  fake_os_fail_populate_at (&f.os, SIZE_MAX);
  for (i = 0; i < NELEM (lens); ++i) {
    size_t before = pool_stats (&f).pages_used;

    while (pool_stats (&f).pages_used < before + AHEAD - 16)
      assert_int_equal (pool_put (&f, n++, lens[i]), 0);
    assert_int_equal (f.os.populate_calls, 0);
    assert_int_equal (feed_all (f.pool), 0);
    fake_os_fail_populate_at (&f.os, SIZE_MAX);
  }
  pool_fixture_fini (&f);
}

static void
wherever_feeding_fails_it_can_be_repeated (void **state)
{
  size_t at;

  (void) state;
  for (at = 1; at < 30; ++at) {
    struct pool_fixture f;

    pool_fixture_init_ahead (&f, 8, NR_CHUNKS, NR_OBJECTS, RESERVE, AHEAD,
                             FOR_EVER);
    fake_os_fail_populate_at (&f.os, at);
    if (feed_all (f.pool) == 0)
      at = 30;
    fake_os_fail_populate_at (&f.os, 0);
    pool_check (&f);
    assert_int_equal (feed_all (f.pool), 0);
    assert_int_equal (pool_put (&f, 0, 100), 0);
    pool_fixture_fini (&f);
  }
}

/* Chain lengths for which there is no chunk get none; the others do. */
static void
a_pool_that_is_too_small_to_feed_still_serves (void **state)
{
  struct pool_fixture f;
  uint32_t n = 0;
  int r;

  (void) state;
  pool_fixture_init_ahead (&f, 8, 2, NR_OBJECTS, RESERVE, AHEAD, FOR_EVER);
  assert_int_equal (feed_all (f.pool), 0);
  assert_true (pool_stats (&f).stock_pages >= 2 * (AHEAD - 8));
  while ((r = pool_put (&f, n, 1000)) == 0)
    ++n;
  assert_int_equal (r, -ENOMEM); /* of the reserve, which comes last */
  pool_check (&f);
  pool_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (what_is_fed_and_the_reserve_need_no_kernel),
    cmocka_unit_test (who_feeds_slowly_wastes_nothing),
    cmocka_unit_test (who_is_stuck_is_not_waited_for),
    cmocka_unit_test (whoever_feeds_is_told_early),
    cmocka_unit_test (feeding_again_makes_up_for_what_was_taken),
    cmocka_unit_test (stock_that_was_fed_is_no_excess),
    cmocka_unit_test (wherever_feeding_fails_it_can_be_repeated),
    cmocka_unit_test (a_pool_that_is_too_small_to_feed_still_serves),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
