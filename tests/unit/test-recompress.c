/* SPDX-License-Identifier: BSD-3-Clause */
/* A store with dictionaries, and its recompression. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary-pages.h"
#include "store-fixture.h"
#include "store-internal.h"

#define STRONG 9

struct fixture {
  struct store_fixture f;
  struct codec_pool *strong;
  struct store_recompress how;
  int level;
};

static void
fixture_init (struct fixture *x, struct store_params params)
{
  assert_int_equal (codec_pool_create (CODEC_ZSTD, STRONG, 1, &x->strong), 0);
  params.strong = x->strong;
  store_fixture_init (&x->f, params);
  x->level = codec_levels (CODEC_ZSTD).dflt;
  x->how = (struct store_recompress){0};
}

static void
fixture_fini (struct fixture *x)
{
  store_fixture_fini (&x->f);
  codec_pool_destroy (x->strong);
}

static struct fixture
zstd_fixture (void)
{
  struct fixture x;

  fixture_init (&x, (struct store_params){.codec = CODEC_ZSTD});
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
recompress (struct fixture *x)
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
add (struct fixture *x, unsigned family)
{
  assert_int_equal (
    store_dictionary_add (x->f.store, dictionary_of_records (family, x->level)),
    0);
}

static void
a_generation_lives_as_long_as_its_pages (void **state)
{
  struct fixture x = zstd_fixture ();
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
      add (&x, g % 3);
  }
  add (&x, 0);
  put_records (s, 400, 1, 0, &rng);
  {
    struct dictionary *d = dictionary_of_records (0, x.level);

    assert_int_equal (store_dictionary_add (s, d), -EBUSY);
    trim_pages (s, 199, 200);
    assert_int_equal (store_dictionary_add (s, d), 0);
  }
  assert_records (s, 0, 100, 0, first);
  fixture_fini (&x);
}

static void
a_page_whose_dictionary_is_gone_is_eio (void **state)
{
  struct fixture x = zstd_fixture ();
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
  fixture_fini (&x);
}

static void
recompression_saves_and_tries_nothing_twice (void **state)
{
  struct fixture x;
  struct store *s;
  struct rng rng = rng_make (3), first = rng, noise;
  struct store_stats before, after;
  enum codec_id codec;

  (void) state;
  for (codec = CODEC_LZ4; codec < CODEC_COUNT; ++codec) {
    fixture_init (&x, (struct store_params){.codec = codec});
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
    fixture_fini (&x);
  }
}

static void
only_what_is_asked_for (void **state)
{
  struct fixture x = zstd_fixture ();
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
  fixture_fini (&x);
}

static void
old_is_what_was_not_used_since_the_last_pass (void **state)
{
  struct fixture x = zstd_fixture ();
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
  fixture_fini (&x);
}

static void
a_reset_keeps_only_what_was_given (void **state)
{
  struct fixture x = zstd_fixture ();
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
  fixture_fini (&x);
}

static void
dense_is_zstd_from_then_on (void **state)
{
  struct codec_pool *dense;
  struct fixture x;
  struct store *s;
  struct rng rng = rng_make (7), first = rng;
  uint8_t part[100];

  (void) state;
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 1, 2, &dense), 0);
  fixture_init (&x, (struct store_params){.dense = dense});
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
  fixture_fini (&x);
  codec_pool_destroy (dense);
}

static void
without_memory_it_is_tried_again_later (void **state)
{
  struct fixture x = zstd_fixture ();
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
  fixture_fini (&x);
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
  struct fixture x;
  uint8_t page[PAGE];
  uint64_t i, k, found = 0;

  (void) state;
  fixture_init (&x, (struct store_params){.nr_pages = 1 << 20});
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
  fixture_fini (&x);
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
  struct fixture x;
  struct store_stats s;
  struct codec_pool *dense;
  uint64_t without, with, again;

  (void) state;
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 3, 0, &dense), 0);
  fixture_init (&x, (struct store_params){.nr_pages = 4096,
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
  fixture_fini (&x);
  codec_pool_destroy (dense);
}

/* Everything at once: writers and readers, each with pages of its own and a
 * memory of what is in them, new generations, recompression, compaction.
 */

#define WRITERS   3
#define OWN_PAGES 300

struct writer {
  struct store *store;
  unsigned number;
  size_t ops;
  bool may_be_full;
  const char *wrong;
};

static void
own_page (const struct writer *w, uint64_t i, uint32_t version, uint8_t *page)
{
  struct rng rng = rng_make ((uint64_t) w->number << 40 | i << 20 | version);

  if (version == 0)
    memset (page, 0, PAGE);
  else if (rng_one_in (&rng, 8))
    page_make (rng_below (&rng, PAGE_KINDS), &rng, page);
  else
    page_of_records (&rng, version % 3, page);
}

static void *
write_and_read (void *arg)
{
  struct writer *w = arg;
  uint32_t versions[OWN_PAGES] = {0};
  struct rng rng = rng_make (50 + w->number);
  uint8_t want[PAGE], got[PAGE];
  uint32_t next = 1;
  size_t n;
  int r;

  for (n = 0; n < w->ops && !w->wrong; ++n) {
    uint64_t i = rng_below (&rng, OWN_PAGES);
    uint64_t offset = (w->number * OWN_PAGES + i) * PAGE;

    switch (rng_below (&rng, 8)) {
    case 0:
      store_trim (w->store, PAGE, offset);
      versions[i] = 0;
      break;
    case 1:
    case 2:
    case 3:
      own_page (w, i, next, want);
      r = store_write (w->store, want, PAGE, offset);
      if (r == -ENOSPC && w->may_be_full)
        break;
      if (r < 0)
        w->wrong = "a write failed";
      versions[i] = next++;
      break;
    default:
      own_page (w, i, versions[i], want);
      if (store_read (w->store, got, PAGE, offset) < 0)
        w->wrong = "a read failed";
      else if (memcmp (got, want, PAGE) != 0)
        w->wrong = "a page is not what was written";
    }
  }
  return NULL;
}

static _Atomic bool writers_done;

static void *
housekeep (void *arg)
{
  struct fixture *x = arg;
  struct dictionary *d;
  unsigned family = 0;
  uint64_t at = 0;
  unsigned n, rounds = 0;
  uint8_t page[PAGE];

  while (!atomic_load (&writers_done)) {
    if (rounds++ % 50 == 0) {
      d = dictionary_of_records (family++ % 3, x->level);
      if (store_dictionary_add (x->f.store, d) < 0)
        dictionary_destroy (d);
      if (store_recompress_begin (x->f.store) < 0)
        break;
    }
    n = 5;
    if (!store_recompress_slice (x->f.store, &x->how, &at, &n))
      at = 0;
    store_sample (x->f.store, &(struct store_sampler){0}, rounds * 7919 % 1000,
                  1000, page);
    store_dictionaries_reap (x->f.store);
    if (rounds % 10 == 0)
      store_compact (x->f.store);
  }
  return NULL;
}

static void
all_at_once (struct store_params params, bool may_be_full)
{
  struct fixture x;
  struct writer w[WRITERS];
  pthread_t threads[WRITERS], keeper;
  struct store_stats s;
  unsigned i;

  fixture_init (&x, params);
  if (params.codec == CODEC_LZ4)
    x.level = STRONG; /* which nothing else compresses at */
  writers_done = false;
  assert_int_equal (pthread_create (&keeper, NULL, housekeep, &x), 0);
  for (i = 0; i < WRITERS; ++i) {
    w[i] =
      (struct writer){x.f.store, i, test_scaled (20000), may_be_full, NULL};
    assert_int_equal (pthread_create (&threads[i], NULL, write_and_read, &w[i]),
                      0);
  }
  for (i = 0; i < WRITERS; ++i)
    pthread_join (threads[i], NULL);
  writers_done = true;
  pthread_join (keeper, NULL);
  for (i = 0; i < WRITERS; ++i)
    if (w[i].wrong)
      fail_msg ("writer %u: %s", i, w[i].wrong);
  s = store_stats_now (x.f.store);
  printf ("%llu pages recompressed of %llu tried, generation %llu\n",
          (unsigned long long) s.recompress_won,
          (unsigned long long) s.recompress_tried,
          (unsigned long long) s.generation);
  assert_true (s.recompress_won > 0);
  fixture_fini (&x);
}

static void
all_at_once_loses_nothing (void **state)
{
  (void) state;
  all_at_once ((struct store_params){.codec = CODEC_ZSTD,
                                     .limit_pages = WRITERS * OWN_PAGES},
               false);
}

/* Writers recompress as well. */
static void
all_at_once_at_the_limit_loses_nothing (void **state)
{
  (void) state;
  all_at_once ((struct store_params){.codec = CODEC_LZ4,
                                     .limit_pages = WRITERS * OWN_PAGES / 4},
               true);
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
    cmocka_unit_test (a_write_without_room_recompresses_first),
    cmocka_unit_test (all_at_once_loses_nothing),
    cmocka_unit_test (all_at_once_at_the_limit_loses_nothing),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
