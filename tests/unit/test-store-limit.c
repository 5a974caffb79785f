/* SPDX-License-Identifier: BSD-3-Clause */
/* A store at its memory limit: it fails late, cleanly and not for long. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "store-fixture.h"
#include "store-internal.h"

#define LIMIT 64 /* pages */

static struct store_fixture
fixture (uint64_t limit_pages)
{
  struct store_fixture f;

  store_fixture_init (
    &f, (struct store_params){.limit_pages = limit_pages, .nr_pages = 2048});
  return f;
}

/* Write pages of a kind until one fails.  Returns how many were written; they
 * are what `again` makes.
 */
static uint64_t
fill_up (struct store *store, enum page_kind kind, struct rng *rng)
{
  uint8_t page[PAGE];
  uint64_t idx;
  int r;

  for (idx = 0;; ++idx) {
    page_make (kind, rng, page);
    r = store_write (store, page, PAGE, idx * PAGE);
    if (r < 0)
      break;
  }
  assert_int_equal (r, -ENOSPC);
  return idx;
}

static void
assert_pages (struct store *store, enum page_kind kind, struct rng again,
              uint64_t n)
{
  uint8_t page[PAGE];
  uint64_t idx;

  for (idx = 0; idx < n; ++idx) {
    page_make (kind, &again, page);
    assert_content (store, page, PAGE, idx * PAGE);
  }
}

static void
at_the_limit_a_write_is_enospc_and_all_is_readable (void **state)
{
  static const enum page_kind kinds[] = {PAGE_RANDOM, PAGE_HALF, PAGE_TEXT,
                                         PAGE_NOISE};
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    struct store_fixture f = fixture (LIMIT);
    struct rng rng = rng_make (i), again = rng;
    uint64_t n = fill_up (f.store, kinds[i], &rng);
    struct store_stats s = store_stats_now (f.store);

    assert_in_range (s.mem_used_total, (LIMIT - 8) * PAGE, LIMIT * PAGE);
    assert_int_equal (s.mem_limit, LIMIT * PAGE);
    assert_int_equal (s.failed_writes, 1);
    assert_int_equal (s.orig_data_size, n * PAGE);
    if (kinds[i] == PAGE_RANDOM)
      assert_int_equal (n, LIMIT);
    assert_pages (f.store, kinds[i], again, n);
    assert_reads_zero (f.store, PAGE, n * PAGE);
    store_fixture_fini (&f);
  }
}

static void
a_failed_overwrite_keeps_the_old_page (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (10);
  uint8_t text[PAGE], noise[PAGE];

  (void) state;
  page_make (PAGE_TEXT, &rng, text);
  put_page (f.store, 2000, text);
  fill_up (f.store, PAGE_RANDOM, &rng);
  page_make (PAGE_RANDOM, &rng, noise);
  assert_int_equal (store_write (f.store, noise, PAGE, 2000 * PAGE), -ENOSPC);
  assert_content (f.store, text, PAGE, 2000 * PAGE);
  /* In part, too. */
  assert_int_equal (store_write (f.store, noise, 3000, 2000 * PAGE + 5),
                    -ENOSPC);
  assert_content (f.store, text, PAGE, 2000 * PAGE);
  assert_int_equal (store_stats_now (f.store).failed_writes, 3);
  store_fixture_fini (&f);
}

static void
an_overwrite_that_does_not_grow_succeeds (void **state)
{
  static const enum page_kind kinds[] = {PAGE_RANDOM, PAGE_TEXT, PAGE_HALF,
                                         PAGE_FILL64};
  uint8_t old[PAGE], page[PAGE];
  size_t i, k, noise;

  (void) state;
  for (k = 0; k < NELEM (kinds); ++k) {
    struct store_fixture f = fixture (LIMIT);
    struct rng rng = rng_make (20 + k);

    page_make (kinds[k], &rng, old);
    put_page (f.store, 2000, old);
    fill_up (f.store, PAGE_RANDOM, &rng);
    for (i = 0; i < 10; ++i) {
      /* The same page is never longer than itself. */
      put_page (f.store, 2000, old);
      assert_content (f.store, old, PAGE, 2000 * PAGE);
    }
    if (kinds[k] == PAGE_RANDOM) {
      for (i = 0; i < PAGE_KINDS; ++i) {
        page_make (PAGE_RANDOM, &rng, page);
        put_page (f.store, 2000, page);
        assert_content (f.store, page, PAGE, 2000 * PAGE);
      }
      for (noise = PAGE - 300; noise > 0; noise -= noise < 200 ? noise : 200) {
        page_make_noise (&rng, noise, page);
        put_page (f.store, 2000, page);
        assert_content (f.store, page, PAGE, 2000 * PAGE);
      }
    }
    assert_int_equal (store_stats_now (f.store).failed_writes, 1);
    store_fixture_fini (&f);
  }
}

static void
every_page_can_be_overwritten_with_itself (void **state)
{
  static const enum page_kind kinds[] = {PAGE_RANDOM, PAGE_HALF, PAGE_TEXT,
                                         PAGE_NOISE, PAGE_FILL64};
  uint8_t page[PAGE];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    struct store_fixture f = fixture (kinds[i] == PAGE_FILL64 ? 2 : LIMIT);
    struct rng rng = rng_make (25 + i), again = rng, check = rng;
    uint64_t idx, n = fill_up (f.store, kinds[i], &rng);

    for (idx = 0; idx < n; ++idx) {
      page_make (kinds[i], &again, page);
      put_page (f.store, idx, page);
    }
    assert_pages (f.store, kinds[i], check, n);
    store_fixture_fini (&f);
  }
}

static void
overwrites_in_place_are_accounted (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (30);
  struct store_stats before, after;
  uint64_t n = fill_up (f.store, PAGE_RANDOM, &rng);

  (void) state;
  before = store_stats_now (f.store);
  assert_int_equal (before.huge_pages, n);
  put_pages (f.store, 0, 1, PAGE_RANDOM, &rng);
  after = store_stats_now (f.store);
  assert_int_equal (after.huge_pages, n);
  assert_int_equal (after.huge_pages_since, n + 1);
  assert_int_equal (after.mem_used_total, before.mem_used_total);
  assert_int_equal (after.orig_data_size, before.orig_data_size);
  put_pages (f.store, 0, 1, PAGE_TEXT, &rng);
  after = store_stats_now (f.store);
  assert_int_equal (after.huge_pages, n - 1);
  store_fixture_fini (&f);
}

static void
inline_fills_and_trims_never_fail (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (40);
  uint64_t n = fill_up (f.store, PAGE_RANDOM, &rng);

  (void) state;
  put_pages (f.store, n, 100, PAGE_ZERO, &rng);
  put_pages (f.store, n + 100, 100, PAGE_FILL, &rng);
  put_pages (f.store, n + 200, 100, PAGE_FILL32, &rng);
  /* They also make room. */
  put_pages (f.store, 0, 10, PAGE_ZERO, &rng);
  trim_pages (f.store, 10, 10);
  assert_int_equal (store_stats_now (f.store).mem_used_total, (n - 20) * PAGE);
  assert_int_equal (store_stats_now (f.store).failed_writes, 1);
  store_fixture_fini (&f);
}

static void
after_a_trim_the_very_next_write_succeeds (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (50);
  uint64_t i, n = fill_up (f.store, PAGE_RANDOM, &rng);
  uint8_t page[PAGE];

  (void) state;
  page_make (PAGE_RANDOM, &rng, page);
  for (i = 0; i < n; ++i) {
    assert_int_equal (store_write (f.store, page, PAGE, 1000 * PAGE), -ENOSPC);
    trim_pages (f.store, i, 1);
    put_page (f.store, 1000, page);
    assert_content (f.store, page, PAGE, 1000 * PAGE);
    trim_pages (f.store, 1000, 1);
    put_page (f.store, i, page);
  }
  store_fixture_fini (&f);
}

/* 32 whole pages: so many that they are compressed by several threads. */
static void
a_failed_request_stops_at_the_page_that_did_not_fit (void **state)
{
  const unsigned nr = 33;
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (60);
  uint8_t *old = malloc (nr * PAGE), *data = malloc (nr * PAGE);
  unsigned i, fit;

  (void) state;
  for (i = 0; i < nr; ++i) {
    page_make (PAGE_FILL, &rng, old + i * PAGE);
    page_make (PAGE_RANDOM, &rng, data + i * PAGE);
  }
  for (fit = 0; fit < nr; ++fit) {
    uint64_t failed;

    assert_int_equal (store_write (f.store, old, nr * PAGE, 1000 * PAGE), 0);
    fill_up (f.store, PAGE_RANDOM, &rng);
    trim_pages (f.store, 0, fit);
    failed = store_stats_now (f.store).failed_writes;
    /* The page after the last that fits is one that is written in part. */
    assert_int_equal (store_write (f.store, data, nr * PAGE - 1, 1000 * PAGE),
                      -ENOSPC);
    assert_content (f.store, data, fit * PAGE, 1000 * PAGE);
    assert_content (f.store, old + fit * PAGE, (nr - fit) * PAGE,
                    (1000 + fit) * PAGE);
    assert_int_equal (store_stats_now (f.store).failed_writes - failed,
                      nr - fit);
    trim_pages (f.store, 0, 2048);
  }
  free (old);
  free (data);
  store_fixture_fini (&f);
}

static void
zero_of_a_part_that_does_not_fit_is_enospc_and_counted (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (70);
  uint8_t page[PAGE];

  (void) state;
  /* A fill becomes a page that needs an object. */
  page_make (PAGE_FILL, &rng, page);
  put_page (f.store, 1000, page);
  put_page (f.store, 1001, page);
  put_page (f.store, 1002, page);
  fill_up (f.store, PAGE_RANDOM, &rng);
  assert_int_equal (store_zero (f.store, 2 * PAGE, 1000 * PAGE + 100), -ENOSPC);
  assert_int_equal (store_stats_now (f.store).failed_writes, 2);
  assert_content (f.store, page, PAGE, 1000 * PAGE);
  assert_content (f.store, page, PAGE, 1001 * PAGE);
  assert_content (f.store, page, PAGE, 1002 * PAGE);
  store_fixture_fini (&f);
}

static void
it_compacts_before_it_refuses (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (80);
  uint64_t i, n = fill_up (f.store, PAGE_HALF, &rng);
  struct store_stats s;

  (void) state;
  /* Every other object goes; no zspage becomes empty. */
  for (i = 0; i < n; i += 2)
    trim_pages (f.store, i, 1);
  s = store_stats_now (f.store);
  assert_true (s.freeable >= 4 * PAGE);
  store_set_mem_limit (f.store, s.mem_used_total);
  put_pages (f.store, 1000, s.freeable / PAGE, PAGE_RANDOM, &rng);
  s = store_stats_now (f.store);
  assert_true (s.pages_compacted > 0);
  assert_int_equal (s.failed_writes, 1);
  store_fixture_fini (&f);
}

static void
raising_or_lifting_the_limit_lets_writes_go_on (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (90);
  uint8_t page[PAGE];

  (void) state;
  assert_int_equal (fill_up (f.store, PAGE_RANDOM, &rng), LIMIT);
  page_make (PAGE_RANDOM, &rng, page);
  store_set_mem_limit (f.store, LIMIT * PAGE + 1); /* rounded up */
  put_page (f.store, 1000, page);
  assert_int_equal (store_write (f.store, page, PAGE, 1001 * PAGE), -ENOSPC);
  store_set_mem_limit (f.store, 0);
  put_page (f.store, 1001, page);
  /* Far below: all stays. */
  store_set_mem_limit (f.store, 1);
  assert_content (f.store, page, PAGE, 1000 * PAGE);
  assert_int_equal (store_write (f.store, page, PAGE, 1002 * PAGE), -ENOSPC);
  put_page (f.store, 1000, page);
  store_fixture_fini (&f);
}

/* A writer that waits for another to make room has that room, even where the
 * other left nothing to compact.
 */

static _Atomic bool written;

static void *
write_a_page (void *opaque)
{
  static uint8_t page[PAGE];
  struct store *store = opaque;
  struct rng rng = rng_make (101);
  int r;

  page_make (PAGE_RANDOM, &rng, page);
  r = store_write (store, page, PAGE, 1500 * PAGE);
  written = true;
  return (void *) (intptr_t) r;
}

static void
who_waited_for_room_gets_it (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (100);
  uint64_t i, n = fill_up (f.store, PAGE_HALF, &rng);
  pthread_t thread;
  void *r;

  (void) state;
  for (i = 0; i < n; i += 2)
    trim_pages (f.store, i, 1);
  /* Only huge pages are asked for now, so the holes are of no use. */
  store_set_mem_limit (f.store, store_stats_now (f.store).mem_used_total);
  ranked_lock (&f.store->compact_lock);
  written = false;
  assert_int_equal (pthread_create (&thread, NULL, write_a_page, f.store), 0);
  /* glibc: 2 is locked with somebody waiting. */
  while (!written &&
         __atomic_load_n (&f.store->compact_lock.mutex.__data.__lock,
                          __ATOMIC_RELAXED) != 2)
    sched_yield ();
  assert_false (written);
  assert_true (zs_compact (f.store->pool) > 0);
  assert_int_equal (zs_freeable_pages (f.store->pool), 0);
  ranked_unlock (&f.store->compact_lock);
  pthread_join (thread, &r);
  assert_int_equal ((intptr_t) r, 0);
  store_fixture_fini (&f);
}

/* Fill a device with objects of half a page, and free every other one: much is
 * freeable, and nothing has room.  Returns how many pages there were.
 */
static uint64_t
fill_and_thin_out (struct store *store, struct rng *rng)
{
  uint64_t idx, n = fill_up (store, PAGE_HALF, rng);

  for (idx = 0; idx < n; idx += 2)
    trim_pages (store, idx, 1);
  assert_true (store_stats_now (store).freeable > 0);
  return n;
}

/* Also if the objects that must move are of the slots that the page's own lock
 * guards.
 */
static void
a_part_of_a_page_is_written_after_compaction_too (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (80);
  uint8_t page[PAGE];
  uint64_t n;

  (void) state;
  n = fill_and_thin_out (f.store, &rng);
  page_make (PAGE_RANDOM, &rng, page);
  while (store_stats_now (f.store).freeable > 0) {
    assert_true (n < 2048);
    assert_int_equal (store_write (f.store, page, PAGE - 1, n++ * PAGE), 0);
  }
  assert_true (store_stats_now (f.store).pages_compacted > 0);
  store_fixture_fini (&f);
}

struct elsewhere {
  struct store *other;
  unsigned calls;
};

static bool
make_room_elsewhere (void *opaque, bool memory_is_refused)
{
  struct elsewhere *e = opaque;

  e->calls++;
  return e->other && store_make_room (e->other, memory_is_refused);
}

/* Two stores that share a limit: what can be freed in one the other gets, whole
 * pages and parts of them.
 */
static void
room_is_made_in_other_stores_for_a_shared_limit (void **state)
{
  struct zs_budget budget = {.limit = 2 * LIMIT};
  struct elsewhere e = {.other = NULL};
  struct store_params params = {.nr_pages = 2048,
                                .budget = &budget,
                                .room_elsewhere = make_room_elsewhere,
                                .room_opaque = &e};
  struct store_fixture a, b;
  struct rng rng = rng_make (81);
  uint8_t page[PAGE];
  uint64_t n, compacted, part;

  (void) state;
  store_fixture_init (&a, params);
  store_fixture_init (&b, params);
  n = fill_and_thin_out (a.store, &rng);
  assert_true (e.calls > 0);
  e.other = a.store;
  page_make (PAGE_RANDOM, &rng, page);
  for (part = 0, n = 0; store_stats_now (a.store).freeable > 0; ++n) {
    assert_true (n < 2048);
    part = part ? 0 : 1;
    assert_int_equal (store_write (b.store, page, PAGE - part, n * PAGE), 0);
  }
  compacted = store_stats_now (a.store).pages_compacted;
  assert_true (compacted > 0);
  /* Then it is full. */
  fill_up (b.store, PAGE_RANDOM, &rng);
  assert_in_range (atomic_load (&budget.used), 2 * LIMIT - 8, 2 * LIMIT);
  store_fixture_fini (&b);
  store_fixture_fini (&a);
}

/* A write that finds everything that could be moved in use, waits for it. */
static void
what_is_in_use_is_waited_for (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct rng rng = rng_make (83);
  uint64_t i, n = fill_up (f.store, PAGE_HALF, &rng);
  struct stripe *group = group_of (f.store, 0);
  bool waits = false;
  pthread_t thread;
  void *r;

  (void) state;
  /* All in one group of stripes. */
  assert_in_range (n, 2, SLOTS_PER_TABLE_PAGE);
  for (i = 0; i < n; i += 2)
    trim_pages (f.store, i, 1);
  store_set_mem_limit (f.store, store_stats_now (f.store).mem_used_total);
  for (i = 0; i < STRIPES_PER_GROUP; ++i)
    ranked_lock_next (&group[i].lock);
  written = false;
  assert_int_equal (pthread_create (&thread, NULL, write_a_page, f.store), 0);
  /* glibc: 2 is locked with somebody waiting. */
  while (!written && !waits) {
    for (i = 0; i < STRIPES_PER_GROUP; ++i)
      waits |= __atomic_load_n (&group[i].lock.mutex.__data.__lock,
                                __ATOMIC_RELAXED) == 2;
    sched_yield ();
  }
  for (i = 0; i < STRIPES_PER_GROUP; ++i)
    ranked_unlock (&group[i].lock);
  pthread_join (thread, &r);
  assert_int_equal ((intptr_t) r, 0);
  store_fixture_fini (&f);
}

/* While another thread compacts, a write that fails would fail again: nothing
 * was on its way from one hand to the other.
 */
struct compactor {
  struct store *store;
  _Atomic bool stop;
};

static void *
compact_always (void *arg)
{
  struct compactor *c = arg;
  unsigned i;
  bool more;

  while (!atomic_load (&c->stop))
    for (i = 0; i < 255; ++i)
      store_compact_slice (c->store, i, &more);
  return NULL;
}

static void
compaction_by_another_thread_makes_no_write_fail (void **state)
{
  struct store_fixture f = fixture (LIMIT);
  struct compactor c = {.store = f.store};
  struct rng rng = rng_make (82);
  size_t i, n = test_scaled (200);
  uint8_t page[PAGE];
  pthread_t thread;
  uint64_t idx;

  (void) state;
  assert_int_equal (pthread_create (&thread, NULL, compact_always, &c), 0);
  for (i = 0; i < n; ++i) {
    for (idx = 0;; ++idx) {
      page_make (PAGE_HALF, &rng, page);
      if (store_write (f.store, page, PAGE, idx * PAGE) < 0)
        break;
    }
    assert_int_equal (store_write (f.store, page, PAGE, idx * PAGE), -ENOSPC);
    for (; idx > 0; --idx)
      if (rng_one_in (&rng, 2))
        trim_pages (f.store, idx - 1, 1);
  }
  atomic_store (&c.stop, true);
  pthread_join (thread, NULL);
  store_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (at_the_limit_a_write_is_enospc_and_all_is_readable),
    cmocka_unit_test (a_failed_overwrite_keeps_the_old_page),
    cmocka_unit_test (an_overwrite_that_does_not_grow_succeeds),
    cmocka_unit_test (every_page_can_be_overwritten_with_itself),
    cmocka_unit_test (overwrites_in_place_are_accounted),
    cmocka_unit_test (inline_fills_and_trims_never_fail),
    cmocka_unit_test (after_a_trim_the_very_next_write_succeeds),
    cmocka_unit_test (a_failed_request_stops_at_the_page_that_did_not_fit),
    cmocka_unit_test (zero_of_a_part_that_does_not_fit_is_enospc_and_counted),
    cmocka_unit_test (it_compacts_before_it_refuses),
    cmocka_unit_test (a_part_of_a_page_is_written_after_compaction_too),
    cmocka_unit_test (room_is_made_in_other_stores_for_a_shared_limit),
    cmocka_unit_test (what_is_in_use_is_waited_for),
    cmocka_unit_test (compaction_by_another_thread_makes_no_write_fail),
    cmocka_unit_test (raising_or_lifting_the_limit_lets_writes_go_on),
    cmocka_unit_test (who_waited_for_room_gets_it),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
