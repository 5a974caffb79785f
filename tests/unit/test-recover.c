/* SPDX-License-Identifier: BSD-3-Clause */
/* A store that is opened again, after it was closed or as if its process had
 * been killed, has what it had.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dictionary-pages.h"
#include "state-fixture.h"
#include "store-internal.h"
#include "store-model.h"

/* Several pages of the table, the last of them not full. */
#define NR_PAGES (3 * 512 + 100)
#define MAX_LEN  (64 * 1024u)

static void
must (const char *why)
{
  if (why)
    fail_msg ("%s", why);
}

static const struct store_params kinds[] = {
  {.nr_pages = NR_PAGES, .codec = CODEC_LZ4},
  {.nr_pages = NR_PAGES, .codec = CODEC_LZ4, .has_checks = true},
  {.nr_pages = NR_PAGES, .codec = CODEC_ZSTD, .chain_size = 4},
  {.nr_pages = NR_PAGES,
   .codec = CODEC_ZSTD,
   .chain_size = 16,
   .has_checks = true},
};

/* Writes of all kinds of pages, whole and in part, trims and zeroes. */
static void
play (struct store_model *m, struct rng *rng, unsigned n)
{
  static uint8_t data[MAX_LEN + PAGE];
  uint64_t offset;
  size_t i, len;

  for (; n > 0; --n) {
    len = rng_range (rng, 1, MAX_LEN);
    offset = rng_below (rng, m->bytes - MAX_LEN);
    if (rng_one_in (rng, 2)) {
      len = zspage_align_up (len, PAGE);
      offset = offset / PAGE * PAGE;
    }
    for (i = 0; i < len; i += PAGE)
      page_make (rng_below (rng, PAGE_KINDS), rng, data + i);
    if (!rng_one_in (rng, 4))
      must (model_write (m, data, len, offset));
    else if (rng_one_in (rng, 2))
      must (model_trim (m, len, offset));
    else
      must (model_zero (m, len, offset));
  }
}

/* Figures that are of what is stored, and not of what was done. */
static void
assert_same_figures (struct store_stats a, struct store_stats b)
{
  assert_int_equal (a.orig_data_size, b.orig_data_size);
  assert_int_equal (a.compr_data_size, b.compr_data_size);
  assert_int_equal (a.mem_used_total, b.mem_used_total);
  assert_int_equal (a.same_pages, b.same_pages);
  assert_int_equal (a.huge_pages, b.huge_pages);
  assert_int_equal (a.lz4_pages, b.lz4_pages);
  assert_int_equal (a.zstd_pages, b.zstd_pages);
  assert_int_equal (a.dictionary_pages, b.dictionary_pages);
  assert_int_equal (a.generation, b.generation);
  assert_int_equal (a.settled_pages, b.settled_pages);
  assert_int_equal (a.freeable, b.freeable);
  assert_int_equal (a.lost_pages, b.lost_pages);
}

static void
reopen (struct state_fixture *s, struct store_model *m, bool kill)
{
  struct store_stats before = store_stats_now (s->f.store);
  struct store_recovered found;

  if (kill)
    state_fixture_kill (s);
  else
    state_fixture_close (s);
  state_fixture_open (s);
  found = store_recovered (s->f.store);
  assert_same_figures (before, store_stats_now (s->f.store));
  assert_int_equal (found.was_closed, !kill);
  assert_int_equal (found.pid, kill ? getpid () : 0);
  assert_int_equal (found.lost, 0);
  assert_int_equal (found.pages, before.orig_data_size / PAGE);
  assert_int_equal (found.pages, store_stats_now (s->f.store).recovered_pages);
  store_check (s->f.store);
  store_model_adopt (m, s->f.store);
  must (model_check (m));
}

static void
what_was_stored_is_there_again (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (1);
  unsigned i, round;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    state_fixture_init (&s, kinds[i], false);
    assert_true (store_is_saved (s.f.store));
    assert_int_equal (store_has_checks (s.f.store), kinds[i].has_checks);
    assert_int_equal (store_model_init (&m, s.f.store), 0);
    reopen (&s, &m, i % 2 == 0); /* as it was made */
    for (round = 0; round < 4; ++round) {
      play (&m, &rng, test_scaled (60));
      if (round == 2) {
        must (model_compact (&m));
        must (model_trim (&m, m.bytes / 2, 0));
      }
      reopen (&s, &m, round % 2 == 0);
    }
    /* Nothing is left but the header, and the records of a few chunks. */
    must (model_trim (&m, m.bytes, 0));
    reopen (&s, &m, true);
    assert_in_range (store_stats_now (s.f.store).mem_resident, PAGE, 5 * PAGE);
    play (&m, &rng, 10);
    reopen (&s, &m, false);
    store_model_fini (&m);
    state_fixture_fini (&s);
  }
}

/* As nobody knows when that was. */
static void
idle_marks_are_gone (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (2);
  uint64_t at = 0;

  (void) state;
  state_fixture_init (&s, kinds[1], false);
  assert_int_equal (store_model_init (&m, s.f.store), 0);
  play (&m, &rng, 30);
  while (store_mark_idle_slice (s.f.store, &at))
    ;
  assert_true (store_stats_now (s.f.store).idle_pages > 0);
  reopen (&s, &m, true);
  assert_int_equal (store_stats_now (s.f.store).idle_pages, 0);
  store_model_fini (&m);
  state_fixture_fini (&s);
}

static void
stock_and_reserve_are_made_again (void **state)
{
  struct state_fixture s;
  struct store_params params = kinds[1];
  struct rng rng = rng_make (3);
  struct store_stats before;
  struct store_recovered found;

  (void) state;
  params.reserve_pages = 8;
  params.ahead_pages = 64;
  state_fixture_init (&s, params, false);
  put_pages (s.f.store, 0, 100, PAGE_HALF, &rng);
  before = store_stats_now (s.f.store);
  state_fixture_kill (&s);
  state_fixture_open (&s);
  found = store_recovered (s.f.store);
  assert_int_equal (found.freed_pages * PAGE, before.mem_reserve);
  /* Not only at the first write. */
  assert_true (store_stats_now (s.f.store).mem_reserve > 8 * PAGE);
  state_fixture_fini (&s);
}

/* There was no memory for a bounce page when the file was opened, and the limit
 * is reached: changing part of a page fails, and leaves all as it is.
 */
static void
without_a_reserve_nothing_is_overwritten (void **state)
{
  enum {
    NR = 60
  };
  struct state_fixture s;
  struct rng rng = rng_make (4);
  uint8_t data[NR * PAGE];
  uint64_t i;

  (void) state;
  state_fixture_init (&s, kinds[0], false);
  put_pages (s.f.store, 0, NR, PAGE_HALF, &rng);
  assert_int_equal (store_read (s.f.store, data, sizeof data, 0), 0);
  state_fixture_kill (&s);
  state_fixture_open (&s);
  s.f.store->started = false;
  s.f.store->bounce = 0;
  store_set_mem_limit (s.f.store, PAGE);
  for (i = 0; i < NR; ++i)
    if (store_zero (s.f.store, 100, i * PAGE + 50) == 0)
      memset (data + i * PAGE + 50, 0, 100);
  assert_content (s.f.store, data, sizeof data, 0);
  s.f.store->started = true;
  assert_int_equal (zs_bounce (s.f.store->pool, &s.f.store->bounce), 0);
  state_fixture_fini (&s);
}

/* Pages of families 0 and 1, half of them compressed with a dictionary of the
 * family, of generation 1 and 2; and some that are not compressed so.
 */
#define PER_FAMILY 150

static void
dictionaries_fill (struct state_fixture *s, struct store_model *m,
                   struct rng *rng)
{
  struct store *store = s->f.store;
  struct store_recompress how = {0};
  uint8_t page[PAGE];
  uint64_t at;
  unsigned family, i, n;

  for (family = 0; family < 2; ++family) {
    assert_int_equal (
      store_dictionary_add (
        store, dictionary_of_records (family, store_dictionary_level (store))),
      0);
    for (i = 0; i < PER_FAMILY; ++i) {
      page_of_records (rng, family, page);
      must (model_write (m, page, PAGE, (family * PER_FAMILY + i) * PAGE));
    }
    at = 0;
    n = 1000;
    assert_int_equal (store_recompress_begin (store), 0);
    store_recompress_slice (store, &how, &at, &n);
    store_recompress_end (store);
  }
  for (i = 0; i < 2 * PAGE_KINDS; ++i) {
    page_make (i / 2, rng, page);
    must (model_write (m, page, PAGE, (600 + i) * PAGE));
  }
}

static void
pages_that_need_dictionaries_are_there_again (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (4);
  struct dictionary *d;
  uint64_t pages;
  unsigned i;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    state_fixture_init (&s, kinds[i], true);
    assert_int_equal (store_model_init (&m, s.f.store), 0);
    dictionaries_fill (&s, &m, &rng);
    assert_int_equal (store_generation (s.f.store), 2);
    store_dictionary (s.f.store, 1, &pages);
    assert_true (pages > PER_FAMILY / 2);
    store_dictionary (s.f.store, 2, &pages);
    assert_true (pages > PER_FAMILY / 2);
    reopen (&s, &m, false);
    reopen (&s, &m, true);

    /* The same again is not another generation. */
    d = dictionary_of_records (1, store_dictionary_level (s.f.store));
    assert_int_equal (store_dictionary_add (s.f.store, d), 0);
    assert_int_equal (store_generation (s.f.store), 2);

    /* That which nothing needs is forgotten. */
    must (model_trim (&m, PER_FAMILY * PAGE, 0));
    state_fixture_kill (&s);
    state_fixture_open (&s);
    store_model_adopt (&m, s.f.store);
    must (model_check (&m));
    assert_null (store_dictionary (s.f.store, 1, &pages));
    assert_non_null (store_dictionary (s.f.store, 2, &pages));
    assert_int_equal (store_generation (s.f.store), 2);
    store_check (s.f.store);
    store_model_fini (&m);
    state_fixture_fini (&s);
  }
}

static void
another_codec_reads_what_is_there (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (5);

  (void) state;
  state_fixture_init (&s, kinds[3], true);
  assert_int_equal (store_model_init (&m, s.f.store), 0);
  dictionaries_fill (&s, &m, &rng);
  state_fixture_close (&s);
  s.params.codec = CODEC_LZ4;
  s.params.strong = NULL;
  state_fixture_open (&s);
  assert_int_equal (store_generation (s.f.store), 0);
  store_model_adopt (&m, s.f.store);
  must (model_check (&m));
  play (&m, &rng, 30);
  must (model_check (&m));
  state_fixture_fini (&s);
  store_model_fini (&m);
}

static void
a_damaged_dictionary_loses_its_pages_alone (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (6);
  struct zspage_header h;
  struct store_recovered found;
  uint64_t idx, lost = 0, in_use;
  unsigned i, g;
  uint8_t byte, page[PAGE];
  int r;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    state_fixture_init (&s, kinds[i], true);
    assert_int_equal (store_model_init (&m, s.f.store), 0);
    dictionaries_fill (&s, &m, &rng);
    state_fixture_kill (&s);

    h = state_header (s.at.path);
    g = 1 + i % 2;
    h.dictionaries_offset +=
      (g - 1) * ZSPAGE_DICTIONARY_PLACE + (i < 2 ? PAGE + 1000 : 2);
    state_peek (s.at.path, h.dictionaries_offset, &byte, 1);
    byte ^= 4;
    state_poke (s.at.path, h.dictionaries_offset, &byte, 1);

    lost = 0;
    for (idx = 0; idx < m.nr_pages; ++idx)
      lost += slot_generation (state_word (s.at.path, idx)) == g &&
              slot_kind (state_word (s.at.path, idx)) == SLOT_ZSTD;
    state_fixture_open (&s);
    found = store_recovered (s.f.store);
    assert_int_equal (found.lost, lost);
    assert_int_equal (store_stats_now (s.f.store).lost_pages, lost);
    assert_null (store_dictionary (s.f.store, g, &in_use));
    assert_int_equal (store_generation (s.f.store), g == 2 ? 0 : 2);
    store_check (s.f.store);
    for (idx = 0; idx < m.nr_pages; ++idx) {
      r = store_read (s.f.store, page, PAGE, idx * PAGE);
      if (slot_kind (s.f.store->slots[idx]) == SLOT_LOST) {
        assert_int_equal (r, -EIO);
        lost--;
      }
      else {
        assert_int_equal (r, 0);
        assert_memory_equal (page, m.data + idx * PAGE, PAGE);
      }
    }
    assert_int_equal (lost, 0);
    /* What is lost can be written again. */
    store_model_adopt (&m, s.f.store);
    for (idx = 0; idx < m.nr_pages; ++idx) {
      page_make (PAGE_TEXT, &rng, page);
      must (model_write (&m, page, PAGE, idx * PAGE));
    }
    assert_int_equal (store_stats_now (s.f.store).lost_pages, 0);
    reopen (&s, &m, true);
    store_model_fini (&m);
    state_fixture_fini (&s);
  }
}

static void
more_than_the_limit_is_there_again (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (7);
  uint8_t page[PAGE];
  uint64_t idx;

  (void) state;
  state_fixture_init (&s, kinds[1], false);
  assert_int_equal (store_model_init (&m, s.f.store), 0);
  for (idx = 0; idx < 400; ++idx) {
    page_make (PAGE_HALF, &rng, page);
    must (model_write (&m, page, PAGE, idx * PAGE));
  }
  s.params.limit_pages = 50;
  reopen (&s, &m, true);
  assert_true (store_stats_now (s.f.store).mem_used_total > 200 * PAGE);
  page_make (PAGE_HALF, &rng, page);
  m.may_fail = true;
  must (model_write (&m, page, PAGE, 0));
  page_make (PAGE_RANDOM, &rng, page);
  assert_int_equal (store_write (s.f.store, page, PAGE, 500 * PAGE), -ENOSPC);
  must (model_trim (&m, 390 * PAGE, 0));
  must (model_write (&m, page, PAGE, 0));
  must (model_check (&m));
  store_model_fini (&m);
  state_fixture_fini (&s);
}

static void
a_file_that_lost_its_holes_is_recovered (void **state)
{
  struct state_fixture s;
  struct store_model m;
  struct rng rng = rng_make (10);
  uint64_t at, bytes;
  uint8_t page[PAGE];
  const struct store_params params = {.nr_pages = 700, .has_checks = true};

  (void) state;
  state_fixture_init (&s, params, true);
  assert_int_equal (store_model_init (&m, s.f.store), 0);
  dictionaries_fill (&s, &m, &rng);
  state_fixture_kill (&s);
  bytes = state_header (s.at.path).file_bytes;
  for (at = 0; at < bytes; at += PAGE) {
    state_peek (s.at.path, at, page, PAGE);
    state_poke (s.at.path, at, page, PAGE);
  }
  state_fixture_open (&s);
  store_model_adopt (&m, s.f.store);
  must (model_check (&m));
  assert_true (store_stats_now (s.f.store).mem_resident < bytes / 4);
  store_check (s.f.store);
  store_model_fini (&m);
  state_fixture_fini (&s);
}

/* So large that several threads do it. */
static void
a_large_device_is_there_again (void **state)
{
  const uint64_t nr_parts = 200;
  struct store_params params = {.nr_pages = nr_parts * 512 - 9};
  struct state_fixture s;
  struct rng rng, first;
  uint8_t page[PAGE];
  uint64_t i;
  int twice;

  (void) state;
  for (twice = 0; twice < 2; ++twice) {
    rng = first = rng_make (11);
    params.has_checks = !twice;
    state_fixture_init (&s, params, false);
    for (i = 0; i < nr_parts; ++i) {
      put_pages (s.f.store, i * 512 + i, 1, PAGE_TEXT, &rng);
      put_pages (s.f.store, i * 512 + i + 1, 1, PAGE_RANDOM, &rng);
    }
    state_fixture_kill (&s);
    for (i = 0; twice && i < 10; ++i) {
      /* Of each kind one more. */
      state_word_set (s.at.path, i * 9000 + 400,
                      state_word (s.at.path, i * 513));
      state_word_set (s.at.path, i * 9000 + 401,
                      state_word (s.at.path, i * 513 + 1));
    }
    state_fixture_open (&s);
    store_check (s.f.store);
    assert_int_equal (store_recovered (s.f.store).lost, twice * 30);
    for (i = 0; i < nr_parts; ++i) {
      page_make (PAGE_TEXT, &first, page);
      assert_content (s.f.store, page, PAGE, (i * 513) * PAGE);
      page_make (PAGE_RANDOM, &first, page);
      if (!twice || i >= 10)
        assert_content (s.f.store, page, PAGE, (i * 513 + 1) * PAGE);
    }
    state_fixture_fini (&s);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (what_was_stored_is_there_again),
    cmocka_unit_test (idle_marks_are_gone),
    cmocka_unit_test (stock_and_reserve_are_made_again),
    cmocka_unit_test (without_a_reserve_nothing_is_overwritten),
    cmocka_unit_test (pages_that_need_dictionaries_are_there_again),
    cmocka_unit_test (another_codec_reads_what_is_there),
    cmocka_unit_test (a_damaged_dictionary_loses_its_pages_alone),
    cmocka_unit_test (more_than_the_limit_is_there_again),
    cmocka_unit_test (a_file_that_lost_its_holes_is_recovered),
    cmocka_unit_test (a_large_device_is_there_again),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
