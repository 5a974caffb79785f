/* SPDX-License-Identifier: BSD-3-Clause */
/* A zs_pool and its memory: the limit, a kernel that refuses, the reserve, the
 * bounce page, and the stock, which is bounded and given back.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "pool-fixture.h"

#define NR_CHUNKS  32
#define NR_OBJECTS 20000

/* The bounds of stock.c for a small pool: stock is never more than this. */
#define STOCK_LOW  16
#define STOCK_HIGH (STOCK_LOW + 64)

/* Put objects of len bytes from owner on until it fails; returns how many. */
static uint32_t
put_until (struct pool_fixture *f, uint32_t owner, size_t len, int *error)
{
  uint32_t n = 0;

  while ((*error = pool_put (f, owner + n, len)) == 0)
    n++;
  return n;
}

static void
assert_same_stats (const struct zs_pool_stats *a, const struct zs_pool_stats *b)
{
  assert_int_equal (a->pages_used, b->pages_used);
  assert_int_equal (a->freeable_pages, b->freeable_pages);
  assert_int_equal (a->stock_pages, b->stock_pages);
  assert_int_equal (a->reserve_pages, b->reserve_pages);
}

static void
the_limit_is_exact_for_huge_objects (void **state)
{
  struct pool_fixture f;
  int error;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  zs_set_limit (f.pool, 100);
  assert_int_equal (put_until (&f, 0, ZSPAGE_PAGE_SIZE, &error), 100);
  assert_int_equal (error, -ENOSPC);
  assert_int_equal (pool_stats (&f).pages_used, 100);
  assert_int_equal (pool_stats (&f).pages_used_max, 100);
  assert_int_equal (pool_stats (&f).pages_limit, 100);
  pool_fixture_fini (&f);
}

static void
the_limit_is_never_passed_and_errors_change_nothing (void **state)
{
  size_t len, limit;

  (void) state;
  for (len = 20; len < ZSPAGE_PAGE_SIZE; len += 293) {
    for (limit = 1; limit < 40; limit += 5) {
      struct pool_fixture f;
      struct zs_pool_stats before, after;
      zs_ref ref;
      int error;

      pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
      zs_set_limit (f.pool, limit);
      put_until (&f, 0, len, &error);
      assert_int_equal (error, -ENOSPC);
      before = pool_stats (&f);
      assert_in_range (before.pages_used, 0, limit);
      assert_int_equal (zs_malloc (f.pool, len, 0, &ref), -ENOSPC);
      after = pool_stats (&f);
      assert_same_stats (&before, &after);
      pool_fixture_fini (&f);
    }
  }
}

static void
a_limit_below_what_is_used_keeps_it_all (void **state)
{
  struct pool_fixture f;
  uint32_t i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  for (i = 0; i < 50; ++i)
    assert_int_equal (pool_put (&f, i, ZSPAGE_PAGE_SIZE), 0);
  zs_set_limit (f.pool, 10);
  pool_check (&f);
  assert_int_equal (pool_put (&f, 50, ZSPAGE_PAGE_SIZE), -ENOSPC);
  for (i = 0; i < 41; ++i)
    pool_drop (&f, i);
  assert_int_equal (pool_put (&f, 50, ZSPAGE_PAGE_SIZE), 0);
  assert_int_equal (pool_put (&f, 51, ZSPAGE_PAGE_SIZE), -ENOSPC);
  zs_set_limit (f.pool, 0);
  assert_int_equal (pool_put (&f, 51, ZSPAGE_PAGE_SIZE), 0);
  pool_fixture_fini (&f);
}

static void
used_max_is_the_highest_until_it_is_reset (void **state)
{
  struct pool_fixture f;
  uint32_t i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  for (i = 0; i < 50; ++i)
    assert_int_equal (pool_put (&f, i, ZSPAGE_PAGE_SIZE), 0);
  for (i = 0; i < 20; ++i)
    pool_drop (&f, i);
  assert_int_equal (pool_stats (&f).pages_used_max, 50);
  zs_reset_used_max (f.pool);
  assert_int_equal (pool_stats (&f).pages_used_max, 30);
  pool_fixture_fini (&f);
}

static void
without_memory_the_reserve_is_used_up_and_then_it_is_enomem (void **state)
{
  const size_t reserve = 8;
  static const size_t lens[] = {1, 100, 1000, 3000, 4096};
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (lens); ++i) {
    struct pool_fixture f;
    struct zs_pool_stats before, after;
    uint32_t n, owner;
    int error;

    pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, reserve);
    assert_int_equal (zs_reserve_fill (f.pool), 0);
    assert_int_equal (pool_stats (&f).reserve_pages, reserve + 1);
    zs_trim_stock (f.pool, 0);

    fake_os_fail_populate_at (&f.os, 1);
    n = put_until (&f, 0, lens[i], &error);
    assert_int_equal (error, -ENOMEM);
    assert_int_equal (n, reserve);
    for (owner = 0; owner < n; ++owner) {
      pool_check_object (&f, owner);
      assert_int_equal (zs_capacity (f.pool, f.objects[owner].ref),
                        ZSPAGE_PAGE_SIZE);
    }
    before = pool_stats (&f);
    assert_int_equal (before.pages_used, reserve);
    assert_int_equal (before.reserve_pages, 1);
    assert_int_equal (pool_put (&f, n, lens[i]), -ENOMEM);
    after = pool_stats (&f);
    assert_same_stats (&before, &after);
    pool_check (&f);

    /* What is freed refills the reserve, and can be had again. */
    pool_drop (&f, 0);
    assert_int_equal (pool_stats (&f).reserve_pages, 2);
    assert_int_equal (pool_put (&f, 0, lens[i]), 0);
    fake_os_fail_populate_at (&f.os, 0);
    assert_int_equal (pool_put (&f, n, lens[i]), 0);
    pool_fixture_fini (&f);
  }
}

static void
the_reserve_does_not_pass_the_limit (void **state)
{
  struct pool_fixture f;
  int error;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 8);
  assert_int_equal (zs_reserve_fill (f.pool), 0);
  zs_trim_stock (f.pool, 0);
  zs_set_limit (f.pool, 5);
  fake_os_fail_populate_at (&f.os, 1);
  assert_int_equal (put_until (&f, 0, ZSPAGE_PAGE_SIZE, &error), 5);
  assert_int_equal (error, -ENOSPC);
  pool_fixture_fini (&f);
}

static void
wherever_memory_fails_nothing_is_lost (void **state)
{
  size_t n, nr_puts = test_scaled (1500);
  bool failed = true;

  (void) state;
  for (n = 1; failed; n = n < 12 ? n + 1 : n + n / 3) {
    struct pool_fixture f;
    struct rng rng = rng_make (n);
    uint32_t i;
    int r = 0;

    failed = false;
    pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 2);
    fake_os_fail_populate_at (&f.os, n);
    for (i = 0; i < nr_puts && r == 0; ++i) {
      struct zs_pool_stats before = pool_stats (&f), after;

      r = pool_put (&f, i, rng_range (&rng, 1, ZSPAGE_PAGE_SIZE));
      if (r < 0) {
        assert_int_equal (r, -ENOMEM);
        failed = true;
        after = pool_stats (&f);
        assert_same_stats (&before, &after);
      }
    }
    pool_check (&f);
    fake_os_fail_populate_at (&f.os, 0);
    for (; i < nr_puts; ++i)
      assert_int_equal (pool_put (&f, i, rng_range (&rng, 1, ZSPAGE_PAGE_SIZE)),
                        0);
    pool_fixture_fini (&f);
  }
  print_message ("no failure any more with %zu calls allowed\n", n);
}

static void
reserve_fill_fails_cleanly_and_can_be_repeated (void **state)
{
  size_t n;
  int r = -ENOMEM;

  (void) state;
  for (n = 1; r < 0; ++n) {
    struct pool_fixture f;
    zs_ref ref;

    pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 4);
    assert_int_equal (zs_bounce (f.pool, &ref), -ENOENT);
    fake_os_fail_populate_at (&f.os, n);
    r = zs_reserve_fill (f.pool);
    if (r < 0)
      assert_int_equal (r, -ENOMEM);
    pool_check (&f);
    fake_os_fail_populate_at (&f.os, 0);
    assert_int_equal (zs_reserve_fill (f.pool), 0);
    assert_int_equal (pool_stats (&f).reserve_pages, 5);
    assert_int_equal (pool_stats (&f).pages_used, 0);
    pool_fixture_fini (&f);
  }
  assert_true (n > 4);
}

static void
the_bounce_page_is_constant_writable_and_not_counted (void **state)
{
  struct pool_fixture f;
  zs_ref ref, again;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  assert_int_equal (zs_bounce (f.pool, &ref), -ENOENT);
  assert_int_equal (zs_reserve_fill (f.pool), 0);
  assert_int_equal (zs_bounce (f.pool, &ref), 0);
  memset (zs_map (f.pool, ref), 0x5a, ZSPAGE_PAGE_SIZE);
  assert_int_equal (zs_capacity (f.pool, ref), ZSPAGE_PAGE_SIZE);
  assert_int_equal (pool_stats (&f).pages_used, 0);
  assert_int_equal (pool_stats (&f).reserve_pages, 1);
  assert_int_equal (pool_put (&f, 0, ZSPAGE_PAGE_SIZE), 0);
  assert_true (f.objects[0].ref != ref);
  pool_drop (&f, 0);
  zs_trim_stock (f.pool, 0);
  assert_int_equal (zs_bounce (f.pool, &again), 0);
  assert_true (again == ref);
  pool_fixture_fini (&f);
}

static void
stock_is_bounded_and_the_rest_is_given_back (void **state)
{
  static const unsigned chains[] = {4, 16};
  size_t c;

  (void) state;
  for (c = 0; c < NELEM (chains); ++c) {
    struct pool_fixture f;
    struct rng rng = rng_make (c);
    uint32_t i, n = 4000;
    size_t full;

    pool_fixture_init (&f, chains[c], NR_CHUNKS, NR_OBJECTS, 8);
    assert_int_equal (zs_reserve_fill (f.pool), 0);
    for (i = 0; i < n; ++i)
      assert_int_equal (pool_put (&f, i, rng_range (&rng, 1, ZSPAGE_PAGE_SIZE)),
                        0);
    full = f.os.populated;
    print_message ("chain %u: %zu pages used, %zu have memory\n", chains[c],
                   pool_stats (&f).pages_used, full);
    /* Ahead of need, but not by much. */
    assert_true (full <= pool_stats (&f).pages_used + 2 * STOCK_HIGH);
    for (i = 0; i < n; ++i) {
      size_t stock, used;

      pool_drop (&f, i);
      stock = pool_stats (&f).stock_pages;
      used = pool_stats (&f).pages_used;
      assert_true (stock <= STOCK_HIGH + used / 256 + used / 16);
    }
    assert_int_equal (pool_stats (&f).reserve_pages, 9);
    assert_int_equal (f.os.populated, pool_stats (&f).stock_pages + 9);
    print_message ("given back %zu pages in %zu calls, %zu left\n",
                   f.os.released_pages, f.os.release_calls, f.os.populated);
    zs_trim_stock (f.pool, 7);
    assert_true (pool_stats (&f).stock_pages <= 7);
    zs_trim_stock (f.pool, 0);
    assert_int_equal (f.os.populated, 9);
    pool_fixture_fini (&f);
  }
}

static void
a_zspage_that_is_freed_and_taken_again_costs_no_call (void **state)
{
  struct pool_fixture f;
  size_t calls;
  int i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  assert_int_equal (zs_reserve_fill (f.pool), 0);
  assert_int_equal (pool_put (&f, 0, 2000), 0);
  calls = f.os.populated_max + f.os.release_calls;
  for (i = 0; i < 1000; ++i) {
    pool_drop (&f, 0);
    assert_int_equal (pool_put (&f, 0, 2000), 0);
  }
  assert_int_equal (f.os.populated_max + f.os.release_calls, calls);
  pool_fixture_fini (&f);
}

static void
when_release_fails_memory_stays_counted (void **state)
{
  struct pool_fixture f;
  uint32_t i, n = 3000;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, NR_OBJECTS, 0);
  for (i = 0; i < n; ++i)
    assert_int_equal (pool_put (&f, i, 3000), 0);
  f.os.fail_release = true;
  for (i = 0; i < n; ++i)
    pool_drop (&f, i);
  zs_trim_stock (f.pool, 0);
  pool_check (&f);
  assert_true (pool_stats (&f).stock_pages >= n / 2);
  f.os.fail_release = false;
  zs_trim_stock (f.pool, 0);
  assert_int_equal (pool_stats (&f).stock_pages, 0);
  pool_fixture_fini (&f);
}

/* Fill everything with objects of a length, and check that every chunk that
 * is left for them was used.
 */
static void
fill_and_empty (struct pool_fixture *f, size_t len, size_t chunks)
{
  uint32_t i, n;
  int error;

  n = put_until (f, 0, len, &error);
  assert_int_equal (error, -ENOMEM);
  print_message ("length %zu: %u objects in %zu pages\n", len, n,
                 pool_stats (f).pages_used);
  /* At most 15 pages of a chunk do not make a zspage. */
  assert_true (pool_stats (f).pages_used >= chunks * (ZSPAGE_CHUNK_PAGES - 15));
  pool_check (f);
  for (i = 0; i < n; ++i)
    pool_drop (f, i);
  zs_trim_stock (f->pool, 0);
  assert_int_equal (f->os.populated, pool_stats (f).reserve_pages);
}

static void
free_chunks_are_used_for_another_kind (void **state)
{
  static const size_t lens[] = {4096, 1564, 2700, 3600, 700, 4096};
  struct pool_fixture f;
  size_t i, round;

  (void) state;
  pool_fixture_init (&f, 16, 4, 50000, 0);
  assert_int_equal (zs_reserve_fill (f.pool), 0);
  for (round = 0; round < 2; ++round)
    for (i = 0; i < NELEM (lens); ++i)
      fill_and_empty (&f, lens[i], lens[i] == 4096 ? 4 : 3);
  pool_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (the_limit_is_exact_for_huge_objects),
    cmocka_unit_test (the_limit_is_never_passed_and_errors_change_nothing),
    cmocka_unit_test (a_limit_below_what_is_used_keeps_it_all),
    cmocka_unit_test (used_max_is_the_highest_until_it_is_reset),
    cmocka_unit_test (
      without_memory_the_reserve_is_used_up_and_then_it_is_enomem),
    cmocka_unit_test (the_reserve_does_not_pass_the_limit),
    cmocka_unit_test (wherever_memory_fails_nothing_is_lost),
    cmocka_unit_test (reserve_fill_fails_cleanly_and_can_be_repeated),
    cmocka_unit_test (the_bounce_page_is_constant_writable_and_not_counted),
    cmocka_unit_test (stock_is_bounded_and_the_rest_is_given_back),
    cmocka_unit_test (a_zspage_that_is_freed_and_taken_again_costs_no_call),
    cmocka_unit_test (when_release_fails_memory_stays_counted),
    cmocka_unit_test (free_chunks_are_used_for_another_kind),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
