/* SPDX-License-Identifier: BSD-3-Clause */
/* Writers and readers, while dictionaries come and go, pages are recompressed, and
 * the pool is compacted.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary-pages.h"
#include "recompress-fixture.h"
#include "store-internal.h"

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
  struct recompress_fixture *x = arg;
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
  struct recompress_fixture x;
  struct writer w[WRITERS];
  pthread_t threads[WRITERS], keeper;
  struct store_stats s;
  unsigned i;

  recompress_fixture_init (&x, params);
  if (params.codec == CODEC_LZ4)
    x.level = RECOMPRESS_LEVEL; /* which nothing else compresses at */
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
  recompress_fixture_fini (&x);
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
    cmocka_unit_test (all_at_once_loses_nothing),
    cmocka_unit_test (all_at_once_at_the_limit_loses_nothing),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
