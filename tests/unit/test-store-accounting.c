/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a store: what counts as stored, as same-filled, as huge. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "store-fixture.h"

static struct store_fixture
fixture (void)
{
  struct store_fixture f;

  store_fixture_init (&f, (struct store_params){0});
  return f;
}

static void
zeros_that_were_written_count_but_zeroes_and_trims_do_not (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (1);

  (void) state;
  put_pages (f.store, 0, 10, PAGE_ZERO, &rng);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 10 * PAGE);
  assert_int_equal (store_stats_now (f.store).same_pages, 10);
  assert_int_equal (store_stats_now (f.store).compr_data_size, 0);
  assert_int_equal (store_stats_now (f.store).mem_used_total, 0);

  assert_int_equal (store_zero (f.store, 4 * PAGE, 0), 0);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 6 * PAGE);
  assert_int_equal (store_stats_now (f.store).same_pages, 6);
  trim_pages (f.store, 4, 4);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 2 * PAGE);
  /* Where nothing was, nothing is. */
  assert_int_equal (store_zero (f.store, 50 * PAGE + 100, 100 * PAGE + 1), 0);
  trim_pages (f.store, 200, 50);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 2 * PAGE);
  store_fixture_fini (&f);
}

static void
zeroing_parts_of_zeros_stores_nothing (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (2);

  (void) state;
  put_pages (f.store, 0, 1, PAGE_TEXT, &rng); /* the table is there */
  assert_int_equal (store_zero (f.store, 100, 5 * PAGE + 50), 0);
  assert_int_equal (store_zero (f.store, PAGE, 5 * PAGE + 50), 0);
  assert_int_equal (store_stats_now (f.store).orig_data_size, PAGE);
  store_fixture_fini (&f);
}

static void
inline_fills_take_no_object (void **state)
{
  static const enum page_kind kinds[] = {PAGE_FILL, PAGE_FILL32};
  struct rng rng = rng_make (3);
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (kinds); ++i) {
    struct store_fixture f = fixture ();

    put_pages (f.store, 0, 300, kinds[i], &rng);
    assert_int_equal (store_stats_now (f.store).same_pages, 300);
    assert_int_equal (store_stats_now (f.store).orig_data_size, 300 * PAGE);
    assert_int_equal (store_stats_now (f.store).mem_used_total, 0);
    store_fixture_fini (&f);
  }
}

static void
a_fill_of_64_bits_takes_a_small_object_and_is_a_same_page (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (4);
  struct store_stats s;

  (void) state;
  put_pages (f.store, 0, 128, PAGE_FILL64, &rng);
  s = store_stats_now (f.store);
  assert_int_equal (s.same_pages, 128);
  assert_int_equal (s.compr_data_size, 0);
  assert_int_equal (s.mem_used_total, PAGE); /* 128 objects of 32 bytes */
  trim_pages (f.store, 0, 128);
  s = store_stats_now (f.store);
  assert_int_equal (s.same_pages, 0);
  assert_int_equal (s.mem_used_total, 0);
  store_fixture_fini (&f);
}

static void
fills_at_the_borders_of_what_fits_inline_come_back (void **state)
{
  static const uint64_t values[] = {
    1,
    UINT64_C (0x00ffffffffffffff),
    UINT64_C (0x0100000000000000),
    UINT64_C (0x0100000001000000),
    UINT64_C (0xffffffffffffffff),
    UINT64_C (0xfffffffffffffffe),
    UINT64_C (0x8000000000000000),
    UINT64_C (0x00000000ffffffff),
    UINT64_C (0xffffffff00000000),
    UINT64_C (0x8080808080808080),
  };
  struct store_fixture f = fixture ();
  uint8_t page[PAGE];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (values); ++i) {
    codec_fill (page, values[i]);
    put_page (f.store, i, page);
    assert_content (f.store, page, PAGE, i * PAGE);
  }
  assert_int_equal (store_stats_now (f.store).same_pages, NELEM (values));
  store_fixture_fini (&f);
}

static void
huge_pages_are_counted_now_and_ever (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (5);
  struct store_stats s;

  (void) state;
  put_pages (f.store, 0, 20, PAGE_RANDOM, &rng);
  s = store_stats_now (f.store);
  assert_int_equal (s.huge_pages, 20);
  assert_int_equal (s.huge_pages_since, 20);
  assert_int_equal (s.compr_data_size, 20 * PAGE);
  assert_int_equal (s.mem_used_total, 20 * PAGE);
  put_pages (f.store, 0, 5, PAGE_TEXT, &rng);
  put_pages (f.store, 5, 5, PAGE_RANDOM, &rng);
  trim_pages (f.store, 10, 5);
  s = store_stats_now (f.store);
  assert_int_equal (s.huge_pages, 10);
  assert_int_equal (s.huge_pages_since, 25);
  store_fixture_fini (&f);
}

static void
compr_data_size_is_the_sum_of_compressed_lengths (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (6);
  uint64_t want = 0;
  uint32_t lens[200] = {0};
  uint8_t page[PAGE];
  int i;

  (void) state;
  for (i = 0; i < 600; ++i) {
    size_t at = rng_below (&rng, NELEM (lens));
    struct codec_ctx *ctx;
    const void *out;

    page_make (PAGE_HALF, &rng, page);
    ctx = codec_get (f.codec);
    want -= lens[at];
    want += lens[at] = codec_compress (ctx, NULL, page, PAGE - 1, &out);
    codec_put (ctx);
    put_page (f.store, at, page);
    assert_int_equal (store_stats_now (f.store).compr_data_size, want);
  }
  store_fixture_fini (&f);
}

static void
used_max_is_kept_until_it_is_reset (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (7);
  struct store_stats s;

  (void) state;
  put_pages (f.store, 0, 100, PAGE_RANDOM, &rng);
  trim_pages (f.store, 0, 60);
  s = store_stats_now (f.store);
  assert_int_equal (s.mem_used_total, 40 * PAGE);
  assert_int_equal (s.mem_used_max, 100 * PAGE);
  store_reset_mem_used_max (f.store);
  assert_int_equal (store_stats_now (f.store).mem_used_max, 40 * PAGE);
  store_fixture_fini (&f);
}

static void
notify_free_counts_the_whole_pages_of_trims_and_zeroes (void **state)
{
  struct store_fixture f = fixture ();

  (void) state;
  trim_pages (f.store, 0, 10);
  assert_int_equal (store_trim (f.store, 2 * PAGE, 1), 0);
  assert_int_equal (store_zero (f.store, 3 * PAGE, 0), 0);
  assert_int_equal (store_stats_now (f.store).notify_free, 14);
  store_fixture_fini (&f);
}

static void
what_zram_leaves_out_is_reported_beside (void **state)
{
  struct store_fixture f = fixture ();
  struct rng rng = rng_make (8);
  struct store_stats before = store_stats_now (f.store), s;

  (void) state;
  assert_int_equal (before.mem_resident, 0);
  assert_true (before.mem_meta > 0);
  put_pages (f.store, 0, 1, PAGE_TEXT, &rng);
  s = store_stats_now (f.store);
  /* At least the header and a page of the table. */
  assert_true (s.mem_meta >= before.mem_meta + 2 * PAGE);
  assert_true (s.mem_reserve >= PAGE);
  assert_true (s.mem_resident >= s.mem_used_total + s.mem_reserve + 2 * PAGE);
  assert_int_equal (s.disksize, 1024 * PAGE);
  store_fixture_fini (&f);
}

static void
compaction_is_counted (void **state)
{
  struct store_fixture f;
  struct rng rng = rng_make (9);
  struct store_stats before, after;
  uint64_t i;

  (void) state;
  store_fixture_init (&f, (struct store_params){.nr_pages = 4096});
  put_pages (f.store, 0, 4096, PAGE_HALF, &rng);
  for (i = 0; i < 4096; ++i)
    if (rng_below (&rng, 100) >= 40)
      trim_pages (f.store, i, 1);
  before = store_stats_now (f.store);
  assert_true (before.freeable > 0);
  assert_int_equal (store_compact (f.store) * PAGE, before.freeable);
  after = store_stats_now (f.store);
  assert_int_equal (after.freeable, 0);
  assert_int_equal (after.pages_compacted * PAGE, before.freeable);
  assert_int_equal (before.mem_used_total - after.mem_used_total,
                    before.freeable);
  assert_true (after.objects_moved > 0);
  assert_int_equal (after.orig_data_size, before.orig_data_size);
  assert_int_equal (after.compr_data_size, before.compr_data_size);
  store_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (
      zeros_that_were_written_count_but_zeroes_and_trims_do_not),
    cmocka_unit_test (zeroing_parts_of_zeros_stores_nothing),
    cmocka_unit_test (inline_fills_take_no_object),
    cmocka_unit_test (
      a_fill_of_64_bits_takes_a_small_object_and_is_a_same_page),
    cmocka_unit_test (fills_at_the_borders_of_what_fits_inline_come_back),
    cmocka_unit_test (huge_pages_are_counted_now_and_ever),
    cmocka_unit_test (compr_data_size_is_the_sum_of_compressed_lengths),
    cmocka_unit_test (used_max_is_kept_until_it_is_reset),
    cmocka_unit_test (notify_free_counts_the_whole_pages_of_trims_and_zeroes),
    cmocka_unit_test (what_zram_leaves_out_is_reported_beside),
    cmocka_unit_test (compaction_is_counted),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
