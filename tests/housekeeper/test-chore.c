/* SPDX-License-Identifier: BSD-3-Clause */
/* The chores of a device: when they are due, that each slice is small, and that
 * they come to an end.
 */
#include <config.h>

#include <string.h>

#include "chore.h"
#include "store-fixture.h"

#define NR_PAGES 4096

/* Copies in a slice; see zs_compact_slice. */
#define SLICE_MOVES 64

static const struct chore_order compact = {.job = JOB_COMPACT};

/* More slices than anything here can need. */
#define MANY_SLICES 100000u

struct device {
  struct store_fixture f;
  struct store *store;
  struct chore chore;
  struct rng rng;
};

static void
device_init (struct device *d, uint64_t limit_pages)
{
  store_fixture_init (&d->f, (struct store_params){.nr_pages = NR_PAGES,
                                                   .limit_pages = limit_pages});
  d->store = d->f.store;
  d->rng = rng_make (1);
  chore_init (&d->chore, d->store, false,
              &(struct chore_config){.interval_ms = 5000});
}

/* Fill pages [0, n) and trim two of three of them, at random: much to free. */
static void
fragment (struct device *d, uint64_t n)
{
  uint64_t idx;

  put_pages (d->store, 0, n, PAGE_NOISE, &d->rng);
  for (idx = 0; idx < n; ++idx)
    if (!rng_one_in (&d->rng, 3))
      trim_pages (d->store, idx, 1);
  assert_in_range (store_stats_now (d->store).freeable, 100 * PAGE, UINT64_MAX);
}

static uint64_t
freeable (struct device *d)
{
  return store_stats_now (d->store).freeable;
}

/* Do what is due, each slice a small one.  Returns how many there were. */
static unsigned
run_slices (struct device *d)
{
  uint64_t moved = store_stats_now (d->store).objects_moved;
  unsigned n;

  for (n = 0; chore_is_due (&d->chore); ++n) {
    uint64_t now;

    assert_in_range (n, 0, MANY_SLICES);
    chore_slice (&d->chore);
    now = store_stats_now (d->store).objects_moved;
    assert_in_range (now - moved, 0, SLICE_MOVES);
    moved = now;
  }
  return n;
}

static void
an_empty_device_has_no_chores (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  assert_int_equal (chore_tick (&d.chore), 0);
  assert_int_equal (chore_tick (&d.chore), 0);
  assert_false (chore_is_due (&d.chore));
  chore_begin (&d.chore, &compact);
  assert_false (chore_is_due (&d.chore));
  store_fixture_fini (&d.f);
}

static void
at_rest_all_that_is_freeable_is_freed (void **state)
{
  struct device d;
  struct store_stats s;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 3000);
  chore_tick (&d.chore);
  assert_false (chore_is_due (&d.chore)); /* the fill was just now */
  chore_tick (&d.chore);
  assert_true (chore_is_due (&d.chore));
  run_slices (&d);
  s = store_stats_now (d.store);
  assert_int_equal (s.freeable, 0);
  assert_int_equal (s.excess_stock, 0);
  assert_in_range (s.pages_compacted, 100, UINT64_MAX);

  chore_tick (&d.chore);
  assert_false (chore_is_due (&d.chore));
  store_fixture_fini (&d.f);
}

static void
what_is_stored_survives (void **state)
{
  struct device d;
  struct rng rng = rng_make (7), again = rng;
  uint8_t page[PAGE];
  uint64_t idx;

  (void) state;
  device_init (&d, 0);
  put_pages (d.store, 0, 2000, PAGE_NOISE, &rng);
  for (idx = 0; idx < 2000; ++idx)
    if (idx % 5 != 0)
      trim_pages (d.store, idx, 1);
  chore_begin (&d.chore, &compact);
  run_slices (&d);
  for (idx = 0; idx < 2000; ++idx) {
    page_make (PAGE_NOISE, &again, page);
    if (idx % 5 != 0)
      memset (page, 0, PAGE);
    assert_content (d.store, page, PAGE, idx * PAGE);
  }
  store_fixture_fini (&d.f);
}

/* The first class is the one that gives most for a copy, and estimates do not
 * promise too much.
 */
static void
classes_come_by_what_they_give_for_a_copy (void **state)
{
  struct device d;
  uint64_t estimate = 0, before;
  size_t i;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 4000);
  chore_begin (&d.chore, &compact);
  assert_in_range (d.chore.nr_order, 10, ZS_NR_SIZES);
  for (i = 0; i < d.chore.nr_order; ++i) {
    const struct policy_class *c = &d.chore.order[i];

    assert_in_range (c->pages_freeable, 1, UINT64_MAX);
    estimate += c->copies;
    if (i > 0)
      assert_true ((double) c[-1].pages_freeable / (c[-1].copies + 1) >=
                   (double) c->pages_freeable / (c->copies + 1));
  }
  before = store_stats_now (d.store).objects_moved;
  run_slices (&d);
  assert_in_range (store_stats_now (d.store).objects_moved - before, 1,
                   estimate);
  store_fixture_fini (&d.f);
}

static void
a_burst_ends_a_run (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 3000);
  chore_tick (&d.chore);
  chore_tick (&d.chore);
  chore_slice (&d.chore);
  assert_true (d.chore.compacting);
  put_pages (d.store, 3000, 400, PAGE_NOISE, &d.rng);
  chore_slice (&d.chore);
  assert_false (d.chore.compacting);
  assert_in_range (freeable (&d), 1, UINT64_MAX);

  /* It goes on when that is over. */
  chore_tick (&d.chore);
  assert_false (d.chore.compacting);
  chore_tick (&d.chore);
  run_slices (&d);
  assert_int_equal (freeable (&d), 0);
  store_fixture_fini (&d.f);
}

static void
a_burst_does_not_end_what_was_asked_for (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 3000);
  chore_begin (&d.chore, &compact);
  chore_slice (&d.chore);
  put_pages (d.store, 3000, 400, PAGE_NOISE, &d.rng);
  chore_slice (&d.chore);
  assert_true (d.chore.compacting);
  run_slices (&d);
  assert_int_equal (freeable (&d), 0);
  store_fixture_fini (&d.f);
}

/* Also on the very first tick, which knows of no rest. */
static void
near_the_limit_a_burst_does_not_wait (void **state)
{
  struct device d;
  struct store_stats s;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 3000);
  s = store_stats_now (d.store);
  store_set_mem_limit (d.store, s.mem_used_total * 100 / 91);
  assert_int_equal (chore_tick (&d.chore), 90);
  assert_true (d.chore.compacting);
  chore_slice (&d.chore);
  s = store_stats_now (d.store);
  assert_in_range (s.objects_moved, 1, SLICE_MOVES);
  store_fixture_fini (&d.f);
}

static void
asking_again_starts_again (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  fragment (&d, 2000);
  chore_begin (&d.chore, &compact);
  run_slices (&d);
  trim_pages (d.store, 0, 2000);
  fragment (&d, 2000);
  chore_begin (&d.chore, &compact);
  chore_slice (&d.chore);
  chore_begin (&d.chore, &compact);
  run_slices (&d);
  assert_int_equal (freeable (&d), 0);
  store_fixture_fini (&d.f);
}

static void
stock_goes_back_in_slices (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  put_pages (d.store, 0, NR_PAGES, PAGE_RANDOM, &d.rng);
  trim_pages (d.store, 0, NR_PAGES);
  chore_tick (&d.chore);
  chore_tick (&d.chore);
  run_slices (&d);
  assert_int_equal (store_stats_now (d.store).excess_stock, 0);
  store_fixture_fini (&d.f);
}

/* The loop would spin if a chore stayed due for ever. */
static void
chores_end_though_the_kernel_takes_nothing_back (void **state)
{
  struct device d;
  unsigned n;

  (void) state;
  device_init (&d, 0);
  fragment (&d, NR_PAGES);
  fail_ops.fail_releases = true;
  trim_pages (d.store, 0, NR_PAGES);
  chore_tick (&d.chore);
  chore_tick (&d.chore);
  for (n = 0; chore_is_due (&d.chore) && n < MANY_SLICES / 10; ++n)
    chore_slice (&d.chore);
  assert_in_range (n, 0, 1000);

  fail_ops.fail_releases = false;
  chore_tick (&d.chore);
  run_slices (&d);
  assert_int_equal (store_stats_now (d.store).excess_stock, 0);
  store_fixture_fini (&d.f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (an_empty_device_has_no_chores),
    cmocka_unit_test (at_rest_all_that_is_freeable_is_freed),
    cmocka_unit_test (what_is_stored_survives),
    cmocka_unit_test (classes_come_by_what_they_give_for_a_copy),
    cmocka_unit_test (a_burst_ends_a_run),
    cmocka_unit_test (a_burst_does_not_end_what_was_asked_for),
    cmocka_unit_test (near_the_limit_a_burst_does_not_wait),
    cmocka_unit_test (asking_again_starts_again),
    cmocka_unit_test (stock_goes_back_in_slices),
    cmocka_unit_test (chores_end_though_the_kernel_takes_nothing_back),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
