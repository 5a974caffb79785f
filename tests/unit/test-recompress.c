/* SPDX-License-Identifier: BSD-3-Clause */
/* A store with dictionaries, and its recompression, by one thread. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary-pages.h"
#include "recompress-fixture.h"
#include "store-internal.h"

static struct recompress_fixture
zstd_fixture (void)
{
  struct recompress_fixture x;

  recompress_fixture_init (&x, (struct store_params){.codec = CODEC_ZSTD});
  return x;
}

static void
put_records (struct store *store, uint64_t idx, uint64_t n, unsigned family,
             struct rng *rng)
{
  uint8_t page[PAGE];

  for (; n > 0; --n, ++idx) {
    page_of_records (rng, family, page);
    put_page (store, idx, page);
  }
}

static void
assert_records (struct store *store, uint64_t idx, uint64_t n, unsigned family,
                struct rng again)
{
  uint8_t page[PAGE];

  for (; n > 0; --n, ++idx) {
    page_of_records (&again, family, page);
    assert_content (store, page, PAGE, idx * PAGE);
  }
}

/* Recompress all there is; returns how many pages were tried. */
static unsigned
recompress (struct recompress_fixture *x)
{
  uint64_t at = 0;
  unsigned all = 0, n;
  bool more;

  assert_int_equal (store_recompress_begin (x->f.store), 0);
  do {
    n = 7;
    more = store_recompress_slice (x->f.store, &x->how, &at, &n);
    assert_in_range (n, 0, 7);
    all += n;
  } while (more);
  store_recompress_end (x->f.store);
  return all;
}

static void
add (struct recompress_fixture *x, unsigned family)
{
  assert_int_equal (
    store_dictionary_add (x->f.store, dictionary_of_records (family, x->level)),
    0);
}

static void
a_generation_lives_as_long_as_its_pages (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (1), first = rng, second;
  uint64_t pages, without, with;
  unsigned g;

  (void) state;
  assert_int_equal (store_generation (s), 0);
  put_records (s, 0, 100, 0, &rng);
  without = store_stats_now (s).compr_data_size;
  add (&x, 0);
  assert_int_equal (store_generation (s), 1);
  assert_true (store_stats_now (s).dictionary_bytes > 32 << 10);
  second = rng;
  put_records (s, 100, 100, 0, &rng);
  with = store_stats_now (s).compr_data_size - without;
  assert_true (with < without * 3 / 4);
  assert_non_null (store_dictionary (s, 1, &pages));
  assert_int_equal (pages, 100);
  assert_int_equal (store_stats_now (s).dictionary_pages, 100);
  assert_int_equal (store_stats_now (s).zstd_pages, 200);
  assert_records (s, 0, 100, 0, first);
  assert_records (s, 100, 100, 0, second);

  /* The next one takes its place as its pages are overwritten. */
  add (&x, 1);
  assert_int_equal (store_generation (s), 2);
  trim_pages (s, 100, 99);
  store_dictionaries_reap (s);
  assert_non_null (store_dictionary (s, 1, &pages));
  assert_int_equal (pages, 1);
  put_records (s, 199, 1, 1, &rng);
  store_dictionaries_reap (s);
  assert_null (store_dictionary (s, 1, &pages));

  /* There are no more than 15, and none is taken from its pages. */
  for (g = 2; g <= 15; ++g) {
    put_records (s, 300 + g, 1, g, &rng);
    if (g < 15)
      add (&x, g);
  }
  add (&x, 15);
  put_records (s, 400, 1, 0, &rng);
  {
    struct dictionary *d = dictionary_of_records (16, x.level);
    struct dictionary *known = dictionary_of_records (3, x.level);

    assert_int_equal (store_dictionary_add (s, d), -EBUSY);
    /* One that is there already takes no other place. */
    assert_int_equal (store_dictionary_add (s, known), 0);
    assert_int_equal (store_generation (s), 4);
    trim_pages (s, 199, 200);
    assert_int_equal (store_dictionary_add (s, d), 0);
  }
  assert_records (s, 0, 100, 0, first);
  recompress_fixture_fini (&x);
}

static void
a_page_whose_dictionary_is_gone_is_eio (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (2);
  struct dictionary *d;
  uint8_t page[PAGE];

  (void) state;
  put_records (s, 0, 1, 0, &rng);
  add (&x, 0);
  put_records (s, 1, 1, 0, &rng);
  d = atomic_exchange (&s->dictionaries[1], NULL);
  assert_int_equal (store_read (s, page, PAGE, 0), 0);
  assert_int_equal (store_read (s, page, PAGE, PAGE), -EIO);
  assert_int_equal (store_stats_now (s).failed_reads, 1);
  atomic_store (&s->dictionaries[1], d);
  assert_int_equal (store_read (s, page, PAGE, PAGE), 0);
  recompress_fixture_fini (&x);
}

static void
recompression_saves_and_tries_nothing_twice (void **state)
{
  struct recompress_fixture x;
  struct store *s;
  struct rng rng = rng_make (3), first = rng, noise;
  struct store_stats before, after;
  enum codec_id codec;

  (void) state;
  for (codec = CODEC_LZ4; codec < CODEC_COUNT; ++codec) {
    recompress_fixture_init (&x, (struct store_params){.codec = codec});
    s = x.f.store;
    put_records (s, 0, 300, 0, &rng);
    noise = rng;
    put_pages (s, 300, 50, PAGE_RANDOM, &rng);
    put_pages (s, 350, 10, PAGE_FILL, &rng);
    before = store_stats_now (s);
    if (codec == CODEC_ZSTD)
      add (&x, 0);
    assert_int_equal (recompress (&x), 350);
    after = store_stats_now (s);
    assert_int_equal (after.recompress_tried, 350);
    if (codec == CODEC_ZSTD) {
      assert_int_equal (after.recompress_won, 300);
      assert_int_equal (after.dictionary_pages, 300);
      assert_true (after.compr_data_size < before.compr_data_size * 3 / 4);
    }
    assert_true (after.recompress_won > 0);
    assert_true (after.recompress_saved > 0);
    assert_int_equal (after.huge_pages, before.huge_pages);
    assert_records (s, 0, 300, 0, first);
    assert_records (s, 0, 300, 0, first);
    first = noise;
    /* Not again, until it is written. */
    assert_int_equal (recompress (&x), 0);
    first = rng;
    put_records (s, 5, 1, 0, &rng);
    put_pages (s, 340, 1, PAGE_RANDOM, &rng);
    assert_int_equal (recompress (&x), 2);
    first = rng;
    recompress_fixture_fini (&x);
  }
}

static void
only_what_is_asked_for (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (4), first = rng;
  uint64_t at = 0;

  (void) state;
  add (&x, 0);
  put_records (s, 0, 100, 0, &rng);
  put_pages (s, 100, 10, PAGE_RANDOM, &rng);
  x.how.which = STORE_RECOMPRESS_HUGE;
  assert_int_equal (recompress (&x), 10);
  x.how.which = STORE_RECOMPRESS_IDLE;
  assert_int_equal (recompress (&x), 0);
  while (store_mark_idle_slice (s, &at))
    ;
  assert_records (s, 0, 50, 0, first); /* not idle now */
  x.how.threshold = 4000;
  assert_int_equal (recompress (&x), 0);
  x.how.threshold = 0;
  assert_int_equal (recompress (&x), 50);
  /* And stay idle. */
  assert_int_equal (store_stats_now (s).idle_pages, 60);
  recompress_fixture_fini (&x);
}

static void
old_is_what_was_not_used_since_the_last_pass (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (5), first = rng;

  (void) state;
  add (&x, 0);
  put_records (s, 0, 100, 0, &rng);
  x.how.which = STORE_RECOMPRESS_OLD | STORE_RECOMPRESS_AGES;
  assert_int_equal (recompress (&x), 0);
  assert_records (s, 0, 30, 0, first);
  rng = first;
  put_records (s, 0, 40, 0, &rng);
  assert_int_equal (recompress (&x), 60);
  assert_int_equal (recompress (&x), 40);
  assert_records (s, 0, 100, 0, first);
  recompress_fixture_fini (&x);
}

static void
a_reset_keeps_only_what_was_given (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (8), first;
  uint64_t pages;

  (void) state;
  add (&x, 0);
  store_dictionary_keep (s);
  put_records (s, 0, 50, 0, &rng);
  add (&x, 1);
  put_records (s, 50, 50, 1, &rng);
  assert_int_equal (store_generation (s), 2);
  assert_int_equal (store_recompress_begin (s), 0);
  assert_int_equal (store_resets (s), 0);
  store_reset (s);
  assert_int_equal (store_resets (s), 1);
  assert_int_equal (store_generation (s), 1);
  first = rng;
  put_records (s, 0, 50, 0, &rng);
  /* A pass that had begun does nothing, and marks nothing. */
  {
    uint64_t at = 0;
    unsigned n = 50;

    store_recompress_slice (s, &x.how, &at, &n);
    assert_int_equal (store_stats_now (s).settled_pages, 0);
    store_recompress_end (s);
  }
  store_dictionaries_reap (s);
  assert_null (store_dictionary (s, 2, &pages));
  assert_non_null (store_dictionary (s, 1, &pages));
  assert_int_equal (pages, 50);
  assert_int_equal (recompress (&x), 50);
  assert_records (s, 0, 50, 0, first);
  recompress_fixture_fini (&x);
}

static void
dense_is_zstd_from_then_on (void **state)
{
  struct codec_pool *dense;
  struct recompress_fixture x;
  struct store *s;
  struct rng rng = rng_make (7), first = rng;
  uint8_t part[100];

  (void) state;
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 1, 2, &dense), 0);
  recompress_fixture_init (&x, (struct store_params){.dense = dense});
  s = x.f.store;
  x.level = 1;
  assert_int_equal (store_dictionary_level (s), 1);
  assert_false (store_is_dense (s));
  put_records (s, 0, 50, 0, &rng);
  add (&x, 0);
  put_records (s, 50, 50, 0, &rng);
  assert_int_equal (store_stats_now (s).lz4_pages, 100);
  store_set_dense (s, true);
  assert_true (store_is_dense (s));
  put_records (s, 100, 50, 0, &rng);
  assert_int_equal (store_stats_now (s).lz4_pages, 100);
  assert_int_equal (store_stats_now (s).dictionary_pages, 50);
  /* Part of a page of either kind, with either. */
  rng_bytes (&rng, part, sizeof part);
  assert_int_equal (store_write (s, part, sizeof part, 10), 0);
  store_set_dense (s, false);
  assert_int_equal (store_write (s, part, sizeof part, 149 * PAGE + 10), 0);
  assert_content (s, part, sizeof part, 10);
  assert_content (s, part, sizeof part, 149 * PAGE + 10);
  assert_int_equal (store_stats_now (s).dictionary_pages, 50);
  rng = first;
  put_records (s, 0, 1, 0, &rng);
  trim_pages (s, 149, 1);
  assert_records (s, 0, 149, 0, first);
  recompress_fixture_fini (&x);
  codec_pool_destroy (dense);
}

static void
without_memory_it_is_tried_again_later (void **state)
{
  struct recompress_fixture x = zstd_fixture ();
  struct store *s = x.f.store;
  struct rng rng = rng_make (6), first = rng;

  (void) state;
  put_records (s, 0, 200, 0, &rng);
  add (&x, 0);
  store_set_mem_limit (s, 1);
  recompress (&x);
  assert_records (s, 0, 200, 0, first);
  store_set_mem_limit (s, 0);
  recompress (&x);
  assert_int_equal (store_stats_now (s).recompress_won, 200);
  assert_records (s, 0, 200, 0, first);
  recompress_fixture_fini (&x);
}

/* Each tenth of what is stored has a tenth of the sample, wherever it is in the
 * device, and no page is in it twice.
 */
static void
a_sample_is_of_all_that_is_stored (void **state)
{
  static const uint64_t starts[] = {0, 5120, 1 << 18, 999936};
  const uint64_t n = 4096, nr = 1000;
  unsigned tenths[10] = {0};
  bool seen[4096] = {false};
  struct store_sampler at = {0};
  struct recompress_fixture x;
  uint8_t page[PAGE];
  uint64_t i, k, found = 0;

  (void) state;
  recompress_fixture_init (&x, (struct store_params){.nr_pages = 1 << 20});
  for (i = 0; i < n; ++i) {
    memset (page, 0, PAGE);
    for (k = 0; k < 20; ++k)
      memcpy (page + 100 * k, &i, sizeof i);
    put_page (x.f.store, starts[i * 4 / n] + i % (n / 4), page);
  }
  for (i = 0; i < nr; ++i) {
    if (!store_sample (x.f.store, &at, i, nr, page))
      continue;
    memcpy (&k, page, sizeof k);
    assert_true (k < n && !seen[k]);
    seen[k] = true;
    tenths[k * 10 / n]++;
    found++;
  }
  /* Some places of the table have nothing. */
  assert_in_range (found, nr / 2, nr);
  for (i = 0; i < 10; ++i)
    assert_in_range (tenths[i], found / 20, found / 6);
  recompress_fixture_fini (&x);
}

/* What happens to page 0 while it is being recompressed, when memory is asked for;
 * by another thread, as this one has locks.
 */
static struct store *between_store;
static void *(*between) (void *page);
static uint8_t between_page[PAGE];

static void *
write_between (void *page)
{
  put_page (between_store, 0, page);
  return NULL;
}

static void *
trim_between (void *page)
{
  (void) page;
  trim_pages (between_store, 0, 1);
  return NULL;
}

static void
on_populate (void)
{
  pthread_t thread;

  fail_ops.on_populate = NULL; /* once */
  assert_int_equal (pthread_create (&thread, NULL, between, between_page), 0);
  pthread_join (thread, NULL);
}

static void
what_is_written_in_between_stays (void **state)
{
  static void *(*const what[]) (void *) = {write_between, trim_between};
  struct rng rng = rng_make (10);
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (what); ++i) {
    struct recompress_fixture x;
    uint8_t page[PAGE];

    recompress_fixture_init (&x, (struct store_params){0});
    page_make (PAGE_TEXT, &rng, page);
    page_make (PAGE_TEXT, &rng, between_page);
    put_page (x.f.store, 0, page);
    between = what[i];
    between_store = x.f.store;
    fail_ops.on_populate = on_populate;
    assert_int_equal (recompress (&x), 1);
    assert_null (fail_ops.on_populate);
    if (what[i] == write_between)
      assert_content (x.f.store, between_page, PAGE, 0);
    else
      assert_reads_zero (x.f.store, PAGE, 0);
    assert_int_equal (store_stats_now (x.f.store).recompress_won, 0);
    recompress_fixture_fini (&x);
  }
}

/* Write records from page 0 on until there is no room; returns how many. */
static uint64_t
fill (struct store *store, struct rng rng)
{
  uint8_t page[PAGE];
  uint64_t idx;
  int r;

  for (idx = 0;; ++idx) {
    page_of_records (&rng, 0, page);
    r = store_write (store, page, PAGE, idx * PAGE);
    if (r == -ENOSPC)
      return idx;
    assert_int_equal (r, 0);
  }
}

static void
a_write_without_room_recompresses_first (void **state)
{
  const struct rng rng = rng_make (7);
  struct recompress_fixture x;
  struct store_stats s;
  struct codec_pool *dense;
  uint64_t without, with, again;

  (void) state;
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 3, 0, &dense), 0);
  recompress_fixture_init (&x, (struct store_params){.nr_pages = 4096,
                                                     .limit_pages = 300,
                                                     .codec = CODEC_LZ4,
                                                     .dense = dense});
  x.f.store->strong = NULL;
  without = fill (x.f.store, rng);
  store_reset (x.f.store);
  x.f.store->strong = x.strong;
  add (&x, 0);
  with = fill (x.f.store, rng);
  s = store_stats_now (x.f.store);
  print_message ("%llu pages without, %llu with\n",
                 (unsigned long long) without, (unsigned long long) with);
  assert_true (with * 2 > without * 3);
  assert_records (x.f.store, 0, with, 0, rng);
  assert_true (s.mem_used_max <= s.mem_limit);
  /* And when there is nothing left to gain, it is not tried for ever. */
  assert_true (s.recompress_tried <= 2 * with);
  /* All of it can be written again. */
  store_set_dense (x.f.store, true);
  again = fill (x.f.store, rng);
  print_message ("%llu pages again\n", (unsigned long long) again);
  assert_true (again >= with);
  recompress_fixture_fini (&x);
  codec_pool_destroy (dense);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_generation_lives_as_long_as_its_pages),
    cmocka_unit_test (a_page_whose_dictionary_is_gone_is_eio),
    cmocka_unit_test (recompression_saves_and_tries_nothing_twice),
    cmocka_unit_test (only_what_is_asked_for),
    cmocka_unit_test (old_is_what_was_not_used_since_the_last_pass),
    cmocka_unit_test (a_reset_keeps_only_what_was_given),
    cmocka_unit_test (dense_is_zstd_from_then_on),
    cmocka_unit_test (without_memory_it_is_tried_again_later),
    cmocka_unit_test (a_sample_is_of_all_that_is_stored),
    cmocka_unit_test (what_is_written_in_between_stays),
    cmocka_unit_test (a_write_without_room_recompresses_first),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
