/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client of a store sees: any offset and length, trims, zeroes, and
 * which parts read as zeros.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store-fixture.h"

static struct store_fixture
fixture (enum codec_id codec)
{
  struct store_fixture f;

  store_fixture_init (&f, (struct store_params){.codec = codec});
  return f;
}

static void
an_unwritten_device_reads_as_zeros (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);

  (void) state;
  assert_reads_zero (f.store, 64 * PAGE, 0);
  assert_reads_zero (f.store, 777, 12345);
  store_fixture_fini (&f);
}

static void
every_kind_of_page_comes_back (void **state)
{
  struct rng rng = rng_make (1);
  uint8_t page[PAGE];
  int codec, i;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec) {
    struct store_fixture f = fixture (codec);

    for (i = 0; i < 20 * PAGE_KINDS; ++i) {
      page_make (i % PAGE_KINDS, &rng, page);
      put_page (f.store, 7, page);
      assert_content (f.store, page, PAGE, 7 * PAGE);
      /* In parts, too. */
      assert_content (f.store, page + 100, 1000, 7 * PAGE + 100);
    }
    assert_reads_zero (f.store, 7 * PAGE, 0);
    assert_reads_zero (f.store, 7 * PAGE, 8 * PAGE);
    store_fixture_fini (&f);
  }
}

/* Writes that begin or end within pages keep what is beside them. */
static void
a_partial_write_changes_only_its_bytes (void **state)
{
  static const struct {
    uint64_t offset;
    size_t len;
  } parts[] = {
    {1024, 3072}, /* as mkswap does */
    {0, 1},           {PAGE - 1, 1},        {PAGE - 1, 2},
    {512, 512},       {PAGE + 1, 3 * PAGE}, {2 * PAGE, 2 * PAGE + 1},
    {PAGE / 2, PAGE}, {5, 4 * PAGE - 9},
  };
  struct rng rng = rng_make (2);
  uint8_t *want = malloc (5 * PAGE), *data = malloc (5 * PAGE);
  size_t i, k, p;

  (void) state;
  for (k = 0; k < PAGE_KINDS; ++k) {
    for (i = 0; i < NELEM (parts); ++i) {
      struct store_fixture f = fixture (k % 2 ? CODEC_ZSTD : CODEC_LZ4);

      for (p = 0; p < 5; ++p)
        page_make (k, &rng, want + p * PAGE);
      assert_int_equal (store_write (f.store, want, 5 * PAGE, 0), 0);
      rng_bytes (&rng, data, parts[i].len);
      memcpy (want + parts[i].offset, data, parts[i].len);
      assert_int_equal (
        store_write (f.store, data, parts[i].len, parts[i].offset), 0);
      assert_content (f.store, want, 5 * PAGE, 0);
      store_fixture_fini (&f);
    }
  }
  free (want);
  free (data);
}

static void
a_partial_write_of_an_unwritten_page_has_zeros_around (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  uint8_t page[PAGE] = {0};

  (void) state;
  memset (page + 1024, 0x41, 512);
  assert_int_equal (store_write (f.store, page + 1024, 512, 3 * PAGE + 1024),
                    0);
  assert_content (f.store, page, PAGE, 3 * PAGE);
  store_fixture_fini (&f);
}

static void
trim_frees_whole_pages_and_leaves_the_edges_alone (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  struct rng rng = rng_make (3);
  uint8_t pages[4][PAGE];
  int i;

  (void) state;
  for (i = 0; i < 4; ++i) {
    page_make (PAGE_TEXT, &rng, pages[i]);
    put_page (f.store, i, pages[i]);
  }
  assert_int_equal (store_trim (f.store, 3 * PAGE - 1, 1), 0);
  memset (pages[1], 0, 2 * PAGE);
  assert_content (f.store, pages, 4 * PAGE, 0);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 2 * PAGE);

  /* Within one page, and across an edge without a whole page: nothing. */
  assert_int_equal (store_trim (f.store, PAGE - 1, 0), 0);
  assert_int_equal (store_trim (f.store, PAGE - 1, 1), 0);
  assert_int_equal (store_trim (f.store, 2 * PAGE - 2, 3 * PAGE + 1), 0);
  assert_int_equal (store_trim (f.store, 0, 0), 0);
  assert_content (f.store, pages, 4 * PAGE, 0);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 2 * PAGE);
  store_fixture_fini (&f);
}

static void
zero_zeroes_the_edges_too (void **state)
{
  static const struct {
    uint64_t offset, len;
  } ranges[] = {
    {0, 4 * PAGE},
    {1, 4 * PAGE - 2},
    {PAGE / 2, PAGE},
    {PAGE + 1, 10},
    {PAGE, 10},
    {2 * PAGE - 10, 10},
    {100, PAGE - 100},
    {PAGE - 1, 2},
    {PAGE - 1, PAGE + 2},
    {7, 3 * PAGE - 14},
    {0, 1},
    {0, 0},
  };
  struct rng rng = rng_make (4);
  uint8_t want[4 * PAGE];
  size_t i, k, p;

  (void) state;
  for (i = 0; i < NELEM (ranges); ++i) {
    for (k = 0; k < PAGE_KINDS; ++k) {
      struct store_fixture f = fixture (CODEC_LZ4);

      for (p = 0; p < 4; ++p) {
        page_make (k, &rng, want + p * PAGE);
        put_page (f.store, p, want + p * PAGE);
      }
      assert_int_equal (store_zero (f.store, ranges[i].len, ranges[i].offset),
                        0);
      memset (want + ranges[i].offset, 0, ranges[i].len);
      assert_content (f.store, want, sizeof want, 0);
      store_fixture_fini (&f);
    }
  }
}

static void
zero_frees_whole_pages (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  struct rng rng = rng_make (5);

  (void) state;
  put_pages (f.store, 0, 10, PAGE_TEXT, &rng);
  assert_int_equal (store_zero (f.store, 9 * PAGE, PAGE / 2), 0);
  assert_int_equal (store_stats_now (f.store).orig_data_size, 2 * PAGE);
  store_fixture_fini (&f);
}

static void
requests_beyond_the_device_are_refused (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  uint64_t size = store_disksize (f.store);
  static const struct {
    int64_t from_end;
    uint64_t len;
  } bad[] = {
    {0, 1},
    {-1, 2},
    {-(int) PAGE, PAGE + 1},
    {1, 0},
    {0, UINT64_MAX},
    {-1, UINT64_MAX},
    {1 << 20, PAGE},
    {-(int) PAGE, UINT64_MAX - PAGE + 2},
  };
  uint8_t page[2 * PAGE] = {1};
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i) {
    uint64_t offset = size + bad[i].from_end;

    assert_int_equal (store_read (f.store, page, bad[i].len, offset), -EINVAL);
    assert_int_equal (store_write (f.store, page, bad[i].len, offset), -EINVAL);
    assert_int_equal (store_trim (f.store, bad[i].len, offset), -EINVAL);
    assert_int_equal (store_zero (f.store, bad[i].len, offset), -EINVAL);
    assert_int_equal (store_extents (f.store, bad[i].len, offset, NULL, NULL),
                      -EINVAL);
  }
  assert_int_equal (store_write (f.store, page, PAGE, size - PAGE), 0);
  assert_int_equal (store_read (f.store, page, PAGE, size - PAGE), 0);
  assert_int_equal (store_read (f.store, page, 0, size), 0);
  assert_int_equal (store_stats_now (f.store).failed_writes, 0);
  store_fixture_fini (&f);
}

/* Extents are as a plain array of pages has them, joined as far as they go. */
struct expected {
  const bool *zero;
  uint64_t at, end;
  int calls, last;
};

static bool
check_extent (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  struct expected *e = opaque;
  uint64_t idx;

  assert_true (offset == e->at);
  assert_true (len > 0 && len <= e->end - offset);
  assert_int_not_equal (e->last, zero);
  for (idx = offset / PAGE; idx <= (offset + len - 1) / PAGE; ++idx)
    assert_int_equal (e->zero[idx], zero);
  e->at += len;
  e->last = zero;
  e->calls++;
  return true;
}

static void
check_extents (struct store *store, const bool *zero, uint64_t len,
               uint64_t offset)
{
  struct expected e = {
    .zero = zero, .at = offset, .end = offset + len, .last = -1};

  assert_int_equal (store_extents (store, len, offset, check_extent, &e), 0);
  assert_true (e.at == e.end);
}

static void
extents_are_exact (void **state)
{
  /* Some table pages (512 slots) in use in part, wholly, and not at all. */
  enum {
    NR_PAGES = 9 * 512 + 77
  };
  struct store_fixture f;
  struct rng rng = rng_make (6);
  bool *zero = malloc (NR_PAGES * sizeof *zero);
  uint64_t size = (uint64_t) NR_PAGES * PAGE;
  int round, i;

  (void) state;
  memset (zero, true, NR_PAGES);
  store_fixture_init (&f, (struct store_params){.nr_pages = NR_PAGES});
  check_extents (f.store, zero, size, 0);
  for (round = 0; round < 60; ++round) {
    uint64_t first = rng_below (&rng, NR_PAGES);
    uint64_t n = 1 + rng_below (&rng, rng_one_in (&rng, 4) ? 1500 : 40);

    if (n > NR_PAGES - first)
      n = NR_PAGES - first;
    if (rng_one_in (&rng, 2)) {
      trim_pages (f.store, first, n);
      memset (zero + first, true, n);
    }
    else {
      enum page_kind kind = rng_below (&rng, PAGE_KINDS);

      put_pages (f.store, first, n, kind, &rng);
      memset (zero + first, kind == PAGE_ZERO, n);
    }
    check_extents (f.store, zero, size, 0);
    for (i = 0; i < 20; ++i) {
      uint64_t offset = rng_below (&rng, size);
      uint64_t len = rng_below (&rng, size - offset + 1);

      if (i % 2)
        len = len % (5 * PAGE);
      check_extents (f.store, zero, len, offset);
    }
  }
  free (zero);
  store_fixture_fini (&f);
}

static void
a_64_bit_fill_is_not_a_zero_extent (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  struct rng rng = rng_make (7);
  bool zero[8] = {true, false, false, false, true, true, true, true};

  (void) state;
  put_pages (f.store, 1, 1, PAGE_FILL, &rng);
  put_pages (f.store, 2, 1, PAGE_FILL32, &rng);
  put_pages (f.store, 3, 1, PAGE_FILL64, &rng);
  put_pages (f.store, 4, 1, PAGE_ZERO, &rng);
  check_extents (f.store, zero, 8 * PAGE, 0);
  store_fixture_fini (&f);
}

static bool
stop_after (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  (void) offset;
  (void) len;
  (void) zero;
  return --*(int *) opaque > 0;
}

static void
extents_stop_when_told (void **state)
{
  struct store_fixture f = fixture (CODEC_LZ4);
  struct rng rng = rng_make (8);
  int i, left;

  (void) state;
  for (i = 0; i < 1000; i += 2)
    put_pages (f.store, i, 1, PAGE_TEXT, &rng);
  for (i = 1; i < 5; ++i) {
    left = i;
    assert_int_equal (
      store_extents (f.store, 1000 * PAGE, 0, stop_after, &left), 0);
    assert_int_equal (left, 0);
  }
  store_fixture_fini (&f);
}

static void
sizes_that_a_device_cannot_have_are_refused (void **state)
{
  static const uint64_t sizes[] = {0,
                                   1,
                                   PAGE - 1,
                                   PAGE + 1,
                                   (UINT64_C (1) << 44) + PAGE,
                                   UINT64_MAX,
                                   UINT64_MAX - PAGE + 1};
  struct store_config config = {.name = "test", .chain_size = 8};
  struct store *store;
  size_t i;

  (void) state;
  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &config.codec), 0);
  for (i = 0; i < NELEM (sizes); ++i) {
    config.disksize = sizes[i];
    assert_int_equal (store_create (&config, &store), -EINVAL);
  }
  config.disksize = PAGE;
  config.chain_size = 3;
  assert_int_equal (store_create (&config, &store), -EINVAL);
  config.chain_size = 17;
  assert_int_equal (store_create (&config, &store), -EINVAL);
  codec_pool_destroy (config.codec);
}

static void
a_device_of_one_page_works (void **state)
{
  struct store_fixture f;
  struct rng rng = rng_make (9);
  uint8_t page[PAGE];

  (void) state;
  store_fixture_init (&f, (struct store_params){.nr_pages = 1});
  page_make (PAGE_TEXT, &rng, page);
  put_page (f.store, 0, page);
  assert_content (f.store, page, PAGE, 0);
  trim_pages (f.store, 0, 1);
  assert_reads_zero (f.store, PAGE, 0);
  store_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (an_unwritten_device_reads_as_zeros),
    cmocka_unit_test (every_kind_of_page_comes_back),
    cmocka_unit_test (a_partial_write_changes_only_its_bytes),
    cmocka_unit_test (a_partial_write_of_an_unwritten_page_has_zeros_around),
    cmocka_unit_test (trim_frees_whole_pages_and_leaves_the_edges_alone),
    cmocka_unit_test (zero_zeroes_the_edges_too),
    cmocka_unit_test (zero_frees_whole_pages),
    cmocka_unit_test (requests_beyond_the_device_are_refused),
    cmocka_unit_test (extents_are_exact),
    cmocka_unit_test (a_64_bit_fill_is_not_a_zero_extent),
    cmocka_unit_test (extents_stop_when_told),
    cmocka_unit_test (sizes_that_a_device_cannot_have_are_refused),
    cmocka_unit_test (a_device_of_one_page_works),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
