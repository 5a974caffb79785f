/* SPDX-License-Identifier: BSD-3-Clause */
/* Dictionaries: trained on pages, they make other pages of the kind smaller and
 * give each of them back; and what is not a dictionary is refused.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "dictionary-pages.h"

#define NR_PAGES 400
#define MAX_LEN  (ZSPAGE_PAGE_SIZE - 5)
#define FAST     1
#define STRONG   6

static uint8_t *
pages_of_records (uint64_t stream)
{
  uint8_t *pages = malloc ((size_t) NR_PAGES * ZSPAGE_PAGE_SIZE);
  struct rng rng = rng_make (stream);
  size_t i;

  assert_non_null (pages);
  for (i = 0; i < NR_PAGES; ++i)
    page_of_records (&rng, 0, pages + i * ZSPAGE_PAGE_SIZE);
  return pages;
}

/* Compress and get back each page; returns the bytes in all. */
static size_t
there_and_back (struct codec_pool *pool, const struct dictionary *dictionary,
                const uint8_t *pages)
{
  struct codec_ctx *ctx = codec_get (pool);
  uint8_t copy[ZSPAGE_PAGE_SIZE], back[ZSPAGE_PAGE_SIZE];
  const void *out;
  size_t i, len, total = 0;

  for (i = 0; i < NR_PAGES; ++i) {
    const uint8_t *page = pages + i * ZSPAGE_PAGE_SIZE;

    len = codec_compress (ctx, dictionary, page, MAX_LEN, &out);
    total += len ? len : ZSPAGE_PAGE_SIZE;
    if (len == 0)
      continue;
    memcpy (copy, out, len);
    memset (back, 0xee, sizeof back);
    assert_int_equal (
      codec_decompress (ctx, CODEC_ZSTD, dictionary, copy, len, back), 0);
    assert_memory_equal (back, page, ZSPAGE_PAGE_SIZE);
  }
  codec_put (ctx);
  return total;
}

static struct codec_pool *
pool_of (int level)
{
  struct codec_pool *pool;

  assert_int_equal (codec_pool_create (CODEC_ZSTD, level, 1, &pool), 0);
  return pool;
}

static void
it_makes_other_pages_of_the_kind_smaller (void **state)
{
  static const int levels[] = {-7, -1, 1, 3, 6, 12, 19, 22};
  uint8_t *pages = pages_of_records (3);
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (levels); ++i) {
    struct dictionary *d = dictionary_of_records (0, levels[i]);
    struct codec_pool *pool = pool_of (levels[i]);
    size_t with = there_and_back (pool, d, pages);
    size_t without = there_and_back (pool, NULL, pages);

    printf ("level %d: %zu bytes with the dictionary, %zu without\n", levels[i],
            with, without);
    if (levels[i] > 0)
      assert_true (with < without * 3 / 4);
    codec_pool_destroy (pool);
    dictionary_destroy (d);
  }
  free (pages);
}

static void
what_one_level_made_is_read_by_another (void **state)
{
  uint8_t *pages = pages_of_records (4), back[ZSPAGE_PAGE_SIZE];
  struct dictionary *d = dictionary_of_records (0, FAST);
  struct codec_pool *fast = pool_of (FAST), *strong = pool_of (STRONG);
  struct codec_ctx *fast_ctx = codec_get (fast), *strong_ctx;
  size_t before = dictionary_memory (d), len;
  const void *out;

  (void) state;
  codec_put (fast_ctx);
  /* Not digested for it. */
  strong_ctx = codec_get (strong);
  assert_int_equal (codec_compress (strong_ctx, d, pages, MAX_LEN, &out), 0);
  assert_int_equal (dictionary_add_level (d, STRONG), 0);
  assert_true (dictionary_memory (d) > before);
  len = codec_compress (strong_ctx, d, pages, MAX_LEN, &out);
  assert_in_range (len, 1, MAX_LEN);
  codec_put (strong_ctx);
  fast_ctx = codec_get (fast);
  assert_int_equal (codec_decompress (fast_ctx, CODEC_ZSTD, d, out, len, back),
                    0);
  assert_memory_equal (back, pages, sizeof back);
  codec_put (fast_ctx);
  dictionary_drop_level (d);
  assert_true (dictionary_memory (d) == before);
  codec_pool_destroy (fast);
  codec_pool_destroy (strong);
  dictionary_destroy (d);
  free (pages);
}

static void
hostile_data_do_no_harm (void **state)
{
  struct dictionary *d = dictionary_of_records (0, FAST);
  struct codec_pool *pool = pool_of (FAST);
  struct codec_ctx *ctx = codec_get (pool);
  struct rng rng = rng_make (5);
  uint8_t *pages = pages_of_records (6);
  uint8_t back[ZSPAGE_PAGE_SIZE];
  const void *out;
  size_t i, n = test_scaled (20000), len;

  (void) state;
  for (i = 0; i < n; ++i) {
    uint8_t *data;

    len = codec_compress (ctx, d, pages + i % NR_PAGES * ZSPAGE_PAGE_SIZE,
                          MAX_LEN, &out);
    data = malloc (len);
    assert_non_null (data);
    memcpy (data, out, len);
    data[rng_below (&rng, len)] ^= 1 << rng_below (&rng, 8);
    len = rng_one_in (&rng, 2) ? len : rng_below (&rng, len + 1);
    codec_decompress (ctx, CODEC_ZSTD, d, data, len, back);
    free (data);
  }
  codec_put (ctx);
  codec_pool_destroy (pool);
  dictionary_destroy (d);
  free (pages);
}

static void
what_is_no_dictionary_is_refused (void **state)
{
  struct dictionary *good = dictionary_of_records (0, FAST), *d;
  struct rng rng = rng_make (7);
  const char *why = NULL;
  size_t len, cut, i, n = test_scaled (2000);
  const void *bytes = dictionary_bytes (good, &len);
  uint8_t *copy = malloc (DICTIONARY_MAX + 1);

  (void) state;
  assert_non_null (copy);
  rng_bytes (&rng, copy, DICTIONARY_MAX + 1);
  assert_int_equal (dictionary_create (copy, DICTIONARY_MAX, FAST, &d, &why),
                    -EINVAL);
  assert_string_equal (why, "not a dictionary of zstd");
  assert_int_equal (
    dictionary_create (copy, DICTIONARY_MAX + 1, FAST, &d, &why), -EMSGSIZE);
  assert_int_equal (dictionary_create (copy, 0, FAST, &d, &why), -EMSGSIZE);
  for (cut = DICTIONARY_MIN; cut < 300; ++cut) {
    memcpy (copy, bytes, cut);
    if (dictionary_create (copy, cut, FAST, &d, &why) == 0)
      dictionary_destroy (d);
  }
  /* Damaged ones are refused, or work. */
  for (i = 0; i < n; ++i) {
    memcpy (copy, bytes, len);
    copy[rng_below (&rng, 300)] ^= 1 << rng_below (&rng, 8);
    if (dictionary_create (copy, len, FAST, &d, &why) == 0)
      dictionary_destroy (d);
  }
  free (copy);
  dictionary_destroy (good);
}

static void
nothing_is_made_of_nothing (void **state)
{
  uint8_t *out = malloc (DICTIONARY_TRAINED), page[ZSPAGE_PAGE_SIZE] = {0};

  (void) state;
  assert_int_equal (dictionary_train (page, 0, out), 0);
  assert_int_equal (dictionary_train (page, 1, out), 0);
  free (out);
}

/* What zstd wants for a dictionary depends on its length; and what a context has
 * room for, on the level.  A page that compresses is never stored raw for that.
 */
static void
any_length_goes_with_any_level (void **state)
{
  static const size_t lens[] = {32768, 114688, 131072, 200000, DICTIONARY_MAX};
  uint8_t *pages = pages_of_records (1), *bytes = malloc (DICTIONARY_MAX);
  struct dictionary *trained = dictionary_of_records (0, FAST), *d;
  const void *begin, *out;
  const char *why = "";
  size_t i, len;
  int level;

  (void) state;
  assert_non_null (bytes);
  begin = dictionary_bytes (trained, &len);
  memcpy (bytes, begin, len);
  memcpy (bytes + len, pages, DICTIONARY_MAX - len);
  for (level = -5; level <= codec_levels (CODEC_ZSTD).max; ++level) {
    struct codec_pool *pool = pool_of (level);

    for (i = 0; i < NELEM (lens); ++i) {
      struct codec_ctx *ctx = codec_get (pool);

      if (dictionary_create (bytes, lens[i], level, &d, &why) < 0)
        fail_msg ("level %d, %zu bytes: %s", level, lens[i], why);
      len = codec_compress (ctx, d, pages, MAX_LEN, &out);
      assert_in_range (len, 1, ZSPAGE_PAGE_SIZE / 2);
      codec_put (ctx);
      dictionary_destroy (d);
    }
    codec_pool_destroy (pool);
  }
  dictionary_destroy (trained);
  free (bytes);
  free (pages);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (it_makes_other_pages_of_the_kind_smaller),
    cmocka_unit_test (what_one_level_made_is_read_by_another),
    cmocka_unit_test (hostile_data_do_no_harm),
    cmocka_unit_test (what_is_no_dictionary_is_refused),
    cmocka_unit_test (nothing_is_made_of_nothing),
    cmocka_unit_test (any_length_goes_with_any_level),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
