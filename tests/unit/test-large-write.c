/* SPDX-License-Identifier: BSD-3-Clause */
/* Large writes, which helpers take part in: who does which piece, and that the
 * device has what was written, in order, whoever compressed it.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary-pages.h"
#include "store-fixture.h"
#include "store-internal.h"

#define NR_PAGES 4096u

static struct {
  _Atomic unsigned done[CREW_PIECES];
  _Atomic bool is_over;
} pieces;

static void
piece_do (void *opaque, unsigned i)
{
  assert_ptr_equal (opaque, &pieces);
  assert_false (atomic_load (&pieces.is_over));
  atomic_fetch_add (&pieces.done[i], 1);
}

/* Take pieces, stop at some: each below nr is done at most once, those taken by
 * the caller from 0 up, and when all are taken each is done.
 */
static void
each_piece_is_done_once (void **state)
{
  struct rng rng = rng_make (1);
  struct crew *crew;
  size_t round;

  (void) state;
  assert_int_equal (crew_create (3, 4096, &crew), 0);
  assert_false (crew_acquire (crew));
  assert_int_equal (crew_start (crew), 0);
  for (round = 0; round < test_scaled (20000); ++round) {
    unsigned nr = rng_range (&rng, 1, CREW_PIECES), i, mine = 0;
    unsigned stop = rng_one_in (&rng, 2) ? nr : rng_below (&rng, nr);

    memset (&pieces, 0, sizeof pieces);
    assert_true (crew_acquire (crew));
    assert_false (crew_acquire (crew));
    memset (crew_scratch (crew), round, 4096);
    crew_begin (crew, nr, piece_do, &pieces);
    while (mine < stop && crew_take (crew, &i)) {
      assert_int_equal (i, mine++);
      piece_do (&pieces, i);
    }
    crew_wait (crew);
    pieces.is_over = true;
    assert_false (crew_take (crew, &i));
    for (i = 0; i < CREW_PIECES; ++i)
      assert_true (pieces.done[i] <= (i < nr));
    for (i = 0; stop == nr && i < nr; ++i)
      assert_int_equal (pieces.done[i], 1);
    crew_release (crew);
  }
  crew_destroy (crew);
  crew_destroy (NULL);
}

static struct {
  unsigned order[CREW_PIECES];
  _Atomic unsigned nr;
} by_helper;

static void
piece_note (void *opaque, unsigned i)
{
  (void) opaque;
  by_helper.order[by_helper.nr] = i;
  atomic_fetch_add (&by_helper.nr, 1);
}

/* All of them, if the caller takes none: from the last one down. */
static void
a_helper_begins_at_the_end (void **state)
{
  const unsigned nr = 20;
  struct crew *crew;
  unsigned i;

  (void) state;
  assert_int_equal (crew_create (1, 4096, &crew), 0);
  assert_int_equal (crew_start (crew), 0);
  assert_true (crew_acquire (crew));
  by_helper.nr = 0;
  crew_begin (crew, nr, piece_note, NULL);
  while (atomic_load (&by_helper.nr) < nr)
    sched_yield ();
  crew_wait (crew);
  assert_int_equal (by_helper.nr, nr);
  for (i = 0; i < nr; ++i)
    assert_int_equal (by_helper.order[i], nr - 1 - i);
  crew_release (crew);

  /* Without its threads nobody has it. */
  crew_stop (crew);
  assert_false (crew_acquire (crew));
  crew_destroy (crew);
}

/* With one processor nobody helps, and nothing is kept for it. */
static void
one_processor_needs_no_crew (void **state)
{
  cpu_set_t before, one;
  struct crew *crew;
  unsigned cpu = 0;

  (void) state;
  assert_int_equal (sched_getaffinity (0, sizeof before, &before), 0);
  while (!CPU_ISSET (cpu, &before))
    ++cpu;
  CPU_ZERO (&one);
  CPU_SET (cpu, &one);
  assert_int_equal (sched_setaffinity (0, sizeof one, &one), 0);
  assert_int_equal (crew_create (0, 1 << 20, &crew), 0);
  assert_int_equal (sched_setaffinity (0, sizeof before, &before), 0);
  assert_int_equal (crew_start (crew), 0);
  crew_warm (crew);
  assert_false (crew_acquire (crew));
  assert_in_range (crew_bytes (crew), 1, 4096);
  crew_destroy (crew);
}

/* A writer of a part of the device, which no other writes. */
struct writer {
  pthread_t thread;
  struct store *store;
  struct rng rng;
  uint64_t first;
  uint8_t *data; /* [NR_PAGES / 4], what must be there */
};

static void *
writer_main (void *arg)
{
  struct writer *w = arg;
  const uint64_t nr = NR_PAGES / 4;
  size_t round;

  for (round = 0; round < test_scaled (60); ++round) {
    uint64_t len = rng_range (&w->rng, 10, 300), at, i;
    uint64_t off = rng_one_in (&w->rng, 2) ? 0 : rng_below (&w->rng, PAGE);

    at = rng_below (&w->rng, nr - len - 1);
    for (i = 0; i < len; ++i)
      page_make (rng_below (&w->rng, PAGE_KINDS), &w->rng,
                 w->data + (at + i) * PAGE + off);
    assert_int_equal (store_write (w->store, w->data + at * PAGE + off,
                                   len * PAGE, (w->first + at) * PAGE + off),
                      0);
    if (rng_one_in (&w->rng, 8)) {
      store_compact (w->store);
      assert_content (w->store, w->data, nr * PAGE, w->first * PAGE);
    }
  }
  assert_content (w->store, w->data, nr * PAGE, w->first * PAGE);
  return NULL;
}

static void
what_is_written_reads_back (void **state)
{
  static const enum codec_id codecs[] = {CODEC_LZ4, CODEC_ZSTD};
  struct writer writers[4];
  struct store_fixture f;
  size_t i, c;

  (void) state;
  for (c = 0; c < NELEM (codecs); ++c) {
    store_fixture_init (&f, (struct store_params){.nr_pages = NR_PAGES,
                                                  .codec = codecs[c],
                                                  .has_checks = c == 0});
    for (i = 0; i < NELEM (writers); ++i) {
      writers[i] = (struct writer){.store = f.store,
                                   .rng = rng_make (10 + i),
                                   .first = i * NR_PAGES / NELEM (writers),
                                   .data = calloc (NR_PAGES / 4, PAGE)};
      assert_int_equal (
        pthread_create (&writers[i].thread, NULL, writer_main, &writers[i]), 0);
    }
    for (i = 0; i < NELEM (writers); ++i) {
      pthread_join (writers[i].thread, NULL);
      free (writers[i].data);
    }
    store_fixture_fini (&f);
  }
}

/* Pages that fit beside those that do not: it stops at one, all before it are
 * new, and it and all after it are as they were.
 */
static void
one_that_fails_stops_where_it_fails (void **state)
{
  const uint64_t nr = 150;
  struct rng rng = rng_make (30);
  struct store_fixture f;
  uint8_t *old = malloc (nr * PAGE), *data = malloc (nr * PAGE);
  uint64_t i, failed, limit;

  (void) state;
  for (limit = 8; limit < 100; limit += rng_range (&rng, 1, 12)) {
    store_fixture_init (&f, (struct store_params){.limit_pages = limit});
    for (i = 0; i < nr; ++i) {
      page_make (PAGE_FILL, &rng, old + i * PAGE);
      page_make (rng_one_in (&rng, 3) ? PAGE_HALF : PAGE_RANDOM, &rng,
                 data + i * PAGE);
    }
    assert_int_equal (store_write (f.store, old, nr * PAGE, 7 * PAGE), 0);
    assert_int_equal (store_write (f.store, data, nr * PAGE, 7 * PAGE),
                      -ENOSPC);
    failed = store_stats_now (f.store).failed_writes;
    assert_in_range (failed, 1, nr);
    assert_content (f.store, data, (nr - failed) * PAGE, 7 * PAGE);
    assert_content (f.store, old + (nr - failed) * PAGE, failed * PAGE,
                    (7 + nr - failed) * PAGE);
    store_fixture_fini (&f);
  }
  free (old);
  free (data);
}

static _Atomic bool enough;

static void *
writes_on (void *opaque)
{
  struct store *store = opaque;
  const size_t nr = 256;
  struct rng rng = rng_make (40);
  uint8_t *data = malloc (nr * PAGE);
  size_t i;

  for (i = 0; i < nr; ++i)
    page_of_records (&rng, 0, data + i * PAGE);
  while (!enough)
    assert_int_equal (store_write (store, data, nr * PAGE, 0), 0);
  free (data);
  return NULL;
}

/* A dictionary that no page needs any more is forgotten, though somebody is
 * always within a large write.
 */
static void
writers_do_not_keep_old_dictionaries (void **state)
{
  struct store_fixture f;
  pthread_t writer;
  unsigned i, old, g, nr = 0;

  (void) state;
  store_fixture_init (&f, (struct store_params){.codec = CODEC_ZSTD});
  enough = false;
  assert_int_equal (pthread_create (&writer, NULL, writes_on, f.store), 0);
  for (i = 0; i < 8; ++i) {
    old = store_generation (f.store);
    assert_int_equal (store_dictionary_add (
                        f.store, dictionary_of_records (
                                   i % 2, store_dictionary_level (f.store))),
                      0);
    while (dictionary_pages (f.store, old) > 0)
      sched_yield ();
    store_dictionaries_reap (f.store);
  }
  for (i = 0; i < 10; ++i) {
    while (old && dictionary_pages (f.store, old) > 0)
      sched_yield ();
    store_dictionaries_reap (f.store);
  }
  for (g = 1; g <= SLOT_GEN_MAX; ++g)
    nr += dictionary_of (f.store, g) != NULL;
  enough = true;
  pthread_join (writer, NULL);
  assert_int_equal (nr, 1);
  store_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (each_piece_is_done_once),
    cmocka_unit_test (a_helper_begins_at_the_end),
    cmocka_unit_test (one_processor_needs_no_crew),
    cmocka_unit_test (what_is_written_reads_back),
    cmocka_unit_test (one_that_fails_stops_where_it_fails),
    cmocka_unit_test (writers_do_not_keep_old_dictionaries),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
