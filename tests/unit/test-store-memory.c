/* SPDX-License-Identifier: BSD-3-Clause */
/* A store and the host's memory: what it does when there is none, and that it
 * takes none where nothing is stored.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store-fixture.h"
#include "store-internal.h"
#include "store-model.h"

#define OK(call)                                                               \
  do {                                                                         \
    const char *why_ = (call);                                                 \
    if (why_)                                                                  \
      fail_msg ("%s", why_);                                                   \
  } while (0)

/* Some table pages' worth. */
#define NR_PAGES (3 * 512 + 9)

/* The same operations for the same stream; all must agree with the model.
 * Memory may fail anywhere.
 */
static void
play (struct store_model *m, uint64_t stream, size_t nr_ops)
{
  struct rng rng = rng_make (stream);
  uint8_t data[8 * PAGE];
  size_t i, op;

  for (op = 0; op < nr_ops; ++op) {
    uint64_t offset = rng_below (&rng, m->bytes - sizeof data);
    size_t len = rng_range (&rng, 1, sizeof data);

    if (rng_one_in (&rng, 2)) {
      offset = offset / PAGE * PAGE;
      len = zspage_align_up (len, PAGE);
    }
    switch (rng_below (&rng, 10)) {
    case 0:
      OK (model_trim (m, len, offset));
      break;
    case 1:
      OK (model_zero (m, len, offset));
      break;
    case 2:
      OK (model_read (m, len, offset));
      break;
    default:
      for (i = 0; i < sizeof data; i += PAGE)
        page_make (rng_below (&rng, PAGE_KINDS), &rng, data + i);
      OK (model_write (m, data, len, offset));
    }
  }
  OK (model_check (m));
}

static void
fixture (struct store_fixture *f, struct store_model *m, size_t reserve_pages)
{
  store_fixture_init (f, (struct store_params){.nr_pages = NR_PAGES,
                                               .reserve_pages = reserve_pages,
                                               .codec = CODEC_LZ4});
  assert_int_equal (store_model_init (m, f->store), 0);
}

static void
fini (struct store_fixture *f, struct store_model *m)
{
  store_model_fini (m);
  store_fixture_fini (f);
}

/* From call number n on, `count` calls to populate fail.  Whether any did. */
static bool
play_with_failure (long n, long count, bool old_kernel)
{
  const size_t nr_ops = 60;
  struct store_fixture f;
  struct store_model m;
  bool failed;

  fixture (&f, &m, 2);
  fail_ops.old_kernel = old_kernel;
  fail_ops.fail_count = count;
  fail_ops.fail_from = n;
  m.may_fail = true;
  play (&m, 1, nr_ops);
  failed = fail_ops.populates >= n;
  store_check (f.store);

  /* As soon as there is memory again all is well. */
  fail_ops.fail_from = 0;
  m.may_fail = false;
  play (&m, 2, nr_ops / 4);
  store_check (f.store);
  fini (&f, &m);
  return failed;
}

static void
sweep (long count, bool old_kernel)
{
  long n;

  for (n = 1; play_with_failure (n, count, old_kernel);
       n += 1 + n / test_scaled (30))
    ;
  print_message ("%ld calls to populate\n", n - 1);
  assert_true (n > 10);
}

static void
one_failure_anywhere_loses_nothing (void **state)
{
  (void) state;
  sweep (1, false);
}

static void
no_memory_from_anywhere_on_loses_nothing (void **state)
{
  (void) state;
  sweep (1000000, false);
}

static void
an_old_kernel_is_served_by_fallocate (void **state)
{
  struct store_fixture f;
  struct store_model m;

  (void) state;
  fixture (&f, &m, 2);
  fail_ops.old_kernel = true;
  play (&m, 3, 500);
  assert_true (fail_ops.fallbacks > 0);
  fini (&f, &m);
  sweep (1, true);
}

static void
random_failures_lose_nothing (void **state)
{
  struct store_fixture f;
  struct store_model m;
  int i;

  (void) state;
  fixture (&f, &m, 2);
  m.may_fail = true;
  for (i = 0; i < 10; ++i) {
    fail_ops.fail_one_in = i < 9 ? 1 + i : 0;
    play (&m, 10 + i, test_scaled (300));
    store_check (f.store);
  }
  assert_true (m.failed > 0);
  fini (&f, &m);
}

static void
the_reserve_lets_writes_succeed (void **state)
{
  const size_t reserve = 8;
  struct store_fixture f;
  struct store_model m;
  struct rng rng = rng_make (4);
  uint8_t page[PAGE];
  uint64_t n = 0;

  (void) state;
  fixture (&f, &m, reserve);
  put_pages (f.store, 0, 1, PAGE_RANDOM, &rng);
  fail_ops_no_memory ();
  for (;;) {
    page_make (PAGE_RANDOM, &rng, page);
    if (store_write (f.store, page, PAGE, (1 + n) * PAGE) < 0)
      break;
    assert_content (f.store, page, PAGE, (1 + n) * PAGE);
    n++;
  }
  print_message ("%d writes without memory\n", (int) n);
  assert_true (n >= reserve);
  /* Overwriting goes on, inline fills and trims too. */
  put_pages (f.store, 0, n, PAGE_RANDOM, &rng);
  put_pages (f.store, 100, 10, PAGE_FILL, &rng);
  trim_pages (f.store, 3, 1);
  put_pages (f.store, 3, 1, PAGE_TEXT, &rng);
  fini (&f, &m);
}

/* Writes of pages from idx on that succeed without memory. */
static uint64_t
writes_without_memory (struct store *store, uint64_t idx, struct rng *rng)
{
  uint8_t page[PAGE];
  uint64_t n;

  fail_ops_no_memory ();
  for (n = 0;; ++n) {
    page_make (PAGE_RANDOM, rng, page);
    if (store_write (store, page, PAGE, (idx + n) * PAGE) < 0)
      break;
  }
  fail_ops_reset ();
  return n;
}

static void
the_reserve_is_filled_again_when_there_is_memory (void **state)
{
  const size_t reserve = 8;
  struct store_fixture f;
  struct store_model m;
  struct rng rng = rng_make (12);
  uint64_t n;

  (void) state;
  fixture (&f, &m, reserve);
  put_pages (f.store, 0, 1, PAGE_RANDOM, &rng);
  n = writes_without_memory (f.store, 1, &rng);
  assert_true (n >= reserve);
  /* All of those pages stay. */
  put_pages (f.store, 200, 100, PAGE_RANDOM, &rng);
  assert_true (store_stats_now (f.store).mem_reserve >= reserve * PAGE);
  assert_true (writes_without_memory (f.store, 300, &rng) >= reserve);
  fini (&f, &m);
}

static void
when_release_fails_trims_succeed (void **state)
{
  struct store_fixture f;
  struct store_model m;

  (void) state;
  fixture (&f, &m, 2);
  play (&m, 5, 300);
  fail_ops.fail_releases = true;
  OK (model_trim (&m, m.bytes, 0));
  OK (model_check (&m));
  play (&m, 6, 300);
  OK (model_zero (&m, m.bytes, 0));
  OK (model_check (&m));
  store_check (f.store);
  fail_ops.fail_releases = false;
  play (&m, 7, 300);
  fini (&f, &m);
}

/* Neither to be had nor to be given back: an error, not a loop. */
static void
without_memory_and_release_writes_fail_in_the_end (void **state)
{
  struct store_fixture f;
  struct store_model m;
  struct rng rng = rng_make (8);
  uint8_t page[PAGE];
  int r = 0;
  uint64_t i;

  (void) state;
  alarm (20);
  fixture (&f, &m, 2);
  /* Leave stock of a kind that does not help. */
  put_pages (f.store, 0, 40, PAGE_HALF, &rng);
  trim_pages (f.store, 0, 40);
  assert_true (store_stats_now (f.store).mem_reserve > 10 * PAGE);
  fail_ops_no_memory ();
  fail_ops.fail_releases = true;
  for (i = 0; r == 0; ++i) {
    page_make (PAGE_RANDOM, &rng, page);
    r = store_write (f.store, page, PAGE, i * PAGE);
  }
  assert_int_equal (r, -ENOSPC);
  alarm (0);
  fini (&f, &m);
}

static void
whole_trims_give_the_table_back (void **state)
{
  struct store_fixture f;
  struct store_model m;
  struct rng rng = rng_make (9);

  (void) state;
  fixture (&f, &m, 2);
  put_pages (f.store, 0, NR_PAGES, PAGE_FILL, &rng);
  assert_int_equal (f.store->nr_present, 4);
  /* In parts: the table stays until the last one. */
  trim_pages (f.store, 256, 256);
  trim_pages (f.store, 1, 255);
  assert_int_equal (f.store->nr_present, 4);
  assert_int_equal (store_trim (f.store, PAGE, 0), 0);
  assert_int_equal (f.store->nr_present, 3);
  /* The last page of the table is not full. */
  trim_pages (f.store, 3 * 512, NR_PAGES - 3 * 512);
  assert_int_equal (f.store->nr_present, 2);
  assert_int_equal (store_zero (f.store, NR_PAGES * PAGE, 0), 0);
  assert_int_equal (f.store->nr_present, 0);
  store_check (f.store);
  /* And it comes again. */
  put_pages (f.store, 5, 1, PAGE_FILL, &rng);
  assert_int_equal (f.store->nr_present, 1);
  fini (&f, &m);
}

static void
memory_falls_to_the_baseline_after_trims (void **state)
{
  struct store_fixture f;
  struct rng rng = rng_make (10);
  uint64_t n = 6000, i, full;
  struct store_stats s;

  (void) state;
  store_fixture_init (&f, (struct store_params){.nr_pages = n});
  for (i = 0; i < n; ++i)
    put_pages (f.store, i, 1, PAGE_TEXT + i % 4, &rng);
  full = store_stats_now (f.store).mem_resident;
  /* As a guest does: 2 MiB at a time. */
  for (i = 0; i < n; i += 512)
    trim_pages (f.store, i, n - i < 512 ? n - i : 512);
  s = store_stats_now (f.store);
  print_message ("resident pages: %u, then %u\n", (unsigned) (full / PAGE),
                 (unsigned) (s.mem_resident / PAGE));
  assert_int_equal (s.mem_used_total, 0);
  assert_int_equal (s.orig_data_size, 0);
  /* Header, bounce, records, and stock up to its bound for an empty pool. */
  assert_true (s.mem_resident <= (1 + 1 + 8 + 80) * PAGE);
  assert_true (full > 30 * s.mem_resident);
  store_fixture_fini (&f);
}

static void
looking_at_what_was_not_written_takes_no_memory (void **state)
{
  struct store_fixture f;
  struct store_model m;
  uint64_t before;

  (void) state;
  fixture (&f, &m, 2);
  OK (model_write (&m, "x", 1, 700 * PAGE));
  before = store_stats_now (f.store).mem_resident;
  OK (model_check (&m));
  OK (model_trim (&m, 512 * PAGE, 0));
  OK (model_zero (&m, 600 * PAGE - 1, 1));
  OK (model_read (&m, 3, NR_PAGES * PAGE - 3));
  assert_int_equal (store_stats_now (f.store).mem_resident, before);
  fini (&f, &m);
}

struct extent {
  uint64_t offset, len;
  bool zero;
  int n;
};

static bool
note_extent (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  struct extent *e = opaque;

  *e = (struct extent){offset, len, zero, e->n + 1};
  return true;
}

/* Sanitizers and valgrind do not have it. */
static bool
has_address_space (uint64_t bytes)
{
  void *p = mmap (NULL, bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (p == MAP_FAILED)
    return false;
  munmap (p, bytes);
  return true;
}

static void
an_idle_device_of_1_tib_takes_no_memory (void **state)
{
  const uint64_t tib = UINT64_C (1) << 40;
  struct store_config config = {
    .name = "tib", .disksize = tib, .chain_size = 8, .ops = &fail_arena_ops};
  struct extent e = {0};
  struct rng rng = rng_make (11);
  struct store *store;
  uint64_t i, before;

  (void) state;
  if (!has_address_space (3 * tib)) {
    print_message ("no address space for a device of 1 TiB here\n");
    skip ();
  }
  fail_ops_reset ();
  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &config.codec), 0);
  assert_int_equal (store_create (&config, &store), 0);
  assert_int_equal (store_trim (store, tib, 0), 0);
  assert_int_equal (store_zero (store, tib - 2, 1), 0);
  assert_int_equal (store_extents (store, tib, 0, note_extent, &e), 0);
  assert_true (e.n == 1 && e.zero && e.len == tib);
  for (i = 0; i < 1000; ++i)
    assert_reads_zero (store, 3 * PAGE, rng_below (&rng, tib - 3 * PAGE));
  assert_int_equal (store_stats_now (store).mem_resident, 0);
  assert_int_equal (fail_ops.populates, 0);

  /* One page, at the very end; then the same again. */
  put_pages (store, tib / PAGE - 1, 1, PAGE_TEXT, &rng);
  before = store_stats_now (store).mem_resident;
  assert_in_range (before, PAGE, 64 * PAGE);
  e.n = 0;
  assert_int_equal (store_extents (store, tib, 0, note_extent, &e), 0);
  assert_true (e.n == 2 && !e.zero && e.len == PAGE);
  assert_int_equal (store_trim (store, tib - PAGE, 0), 0);
  for (i = 0; i < 1000; ++i)
    assert_reads_zero (store, 3 * PAGE, rng_below (&rng, tib - 4 * PAGE));
  assert_int_equal (store_stats_now (store).mem_resident, before);
  store_destroy (store);
  codec_pool_destroy (config.codec);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (one_failure_anywhere_loses_nothing),
    cmocka_unit_test (no_memory_from_anywhere_on_loses_nothing),
    cmocka_unit_test (an_old_kernel_is_served_by_fallocate),
    cmocka_unit_test (random_failures_lose_nothing),
    cmocka_unit_test (the_reserve_lets_writes_succeed),
    cmocka_unit_test (the_reserve_is_filled_again_when_there_is_memory),
    cmocka_unit_test (when_release_fails_trims_succeed),
    cmocka_unit_test (whole_trims_give_the_table_back),
    cmocka_unit_test (memory_falls_to_the_baseline_after_trims),
    cmocka_unit_test (looking_at_what_was_not_written_takes_no_memory),
    cmocka_unit_test (an_idle_device_of_1_tib_takes_no_memory),
    cmocka_unit_test (without_memory_and_release_writes_fail_in_the_end),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
