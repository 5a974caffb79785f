/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs: what goes in comes out, what does not fit says so, and data from
 * anywhere do no harm.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "codec.h"
#include "helpers.h"

#define MAX_LEN (ZSPAGE_PAGE_SIZE - 1)

static struct codec_pool *
pool_of (enum codec_id id, int level, unsigned nr)
{
  struct codec_pool *pool;

  assert_int_equal (codec_pool_create (id, level, nr, &pool), 0);
  return pool;
}

static struct codec_pool *
default_pool (enum codec_id id)
{
  return pool_of (id, codec_levels (id).dflt, 1);
}

/* A place before which nothing is wrong and after which all reads fault. */
static uint8_t *guarded_end;

static int
setup (void **state)
{
  uint8_t *p = mmap (NULL, 3 * ZSPAGE_PAGE_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (p == MAP_FAILED ||
      mprotect (p + 2 * ZSPAGE_PAGE_SIZE, ZSPAGE_PAGE_SIZE, PROT_NONE) == -1)
    return -1;
  guarded_end = p + 2 * ZSPAGE_PAGE_SIZE;
  return test_setup (state);
}

/* Data as the last object of an arena has them: where a read beyond faults.
 * Valid until the next call.
 */
static const uint8_t *
guarded (const void *data, size_t len)
{
  memcpy (guarded_end - len, data, len);
  return guarded_end - len;
}

static void
check_round_trip (struct codec_pool *pool, const uint8_t *page)
{
  struct codec_ctx *ctx = codec_get (pool);
  enum codec_id id = codec_pool_id (pool);
  uint8_t back[ZSPAGE_PAGE_SIZE];
  const void *out;
  size_t len = codec_compress (ctx, NULL, page, MAX_LEN, &out);

  if (len > 0) {
    const uint8_t *data = guarded (out, len);

    assert_in_range (len, 1, MAX_LEN);
    memset (back, 0xee, sizeof back);
    assert_int_equal (
      codec_decompress (codec_decompress_needs_ctx (id) ? ctx : NULL, id, NULL,
                        data, len, back),
      0);
    assert_memory_equal (back, page, sizeof back);
  }
  codec_put (ctx);
}

static void
names_are_those_of_zram (void **state)
{
  enum codec_id id;

  (void) state;
  assert_string_equal (codec_name (CODEC_LZ4), "lz4");
  assert_string_equal (codec_name (CODEC_ZSTD), "zstd");
  assert_true (codec_by_name ("lz4", &id));
  assert_int_equal (id, CODEC_LZ4);
  assert_true (codec_by_name ("zstd", &id));
  assert_int_equal (id, CODEC_ZSTD);
  assert_false (codec_by_name ("", &id));
  assert_false (codec_by_name ("LZ4", &id));
  assert_false (codec_by_name ("zstd ", &id));
}

static void
every_level_gives_back_what_it_got (void **state)
{
  static const int levels[CODEC_COUNT][12] = {
    [CODEC_LZ4] = {1, 2, 3, 10, 100, 65537},
    [CODEC_ZSTD] = {-131072, -100, -5, -1, 1, 2, 3, 5, 9, 15, 19, 22},
  };
  struct rng rng = rng_make (1);
  uint8_t page[ZSPAGE_PAGE_SIZE];
  size_t id, l, i;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    for (l = 0; l < NELEM (levels[id]) && levels[id][l]; ++l) {
      struct codec_pool *pool = pool_of (id, levels[id][l], 1);

      assert_int_equal (codec_pool_level (pool), levels[id][l]);
      assert_int_equal (codec_pool_id (pool), id);
      for (i = 0; i < test_scaled (20) * PAGE_KINDS; ++i) {
        page_make (i % PAGE_KINDS, &rng, page);
        check_round_trip (pool, page);
      }
      codec_pool_destroy (pool);
    }
  }
}

static void
levels_out_of_range_are_refused (void **state)
{
  struct codec_pool *pool;
  int id;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_level_range range = codec_levels (id);

    assert_true (range.min <= range.dflt && range.dflt <= range.max);
    assert_int_equal (codec_pool_create (id, range.min - 1, 1, &pool), -EINVAL);
    assert_int_equal (codec_pool_create (id, range.max + 1, 1, &pool), -EINVAL);
    assert_int_equal (codec_pool_create (id, INT32_MAX, 1, &pool), -EINVAL);
    assert_int_equal (codec_pool_create (id, INT32_MIN, 1, &pool), -EINVAL);
    codec_pool_destroy (pool_of (id, range.min, 1));
    codec_pool_destroy (pool_of (id, range.max, 1));
  }
}

static void
what_does_not_compress_returns_0 (void **state)
{
  struct rng rng = rng_make (2);
  uint8_t page[ZSPAGE_PAGE_SIZE];
  const void *out;
  int id, i;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_pool *pool = default_pool (id);
    struct codec_ctx *ctx = codec_get (pool);

    for (i = 0; i < 50; ++i) {
      page_make (PAGE_RANDOM, &rng, page);
      assert_int_equal (codec_compress (ctx, NULL, page, MAX_LEN, &out), 0);
      /* The context is as good as before. */
      page_make (PAGE_TEXT, &rng, page);
      assert_in_range (codec_compress (ctx, NULL, page, MAX_LEN, &out), 1,
                       3000);
    }
    codec_put (ctx);
    codec_pool_destroy (pool);
  }
}

static void
max_len_is_honoured (void **state)
{
  struct rng rng = rng_make (3);
  uint8_t page[ZSPAGE_PAGE_SIZE];
  const void *out;
  int id, i;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_pool *pool = default_pool (id);
    struct codec_ctx *ctx = codec_get (pool);

    for (i = 0; i < 60; ++i) {
      size_t len, max;

      page_make (PAGE_NOISE, &rng, page);
      len = codec_compress (ctx, NULL, page, MAX_LEN, &out);
      if (len == 0)
        continue;
      assert_int_equal (codec_compress (ctx, NULL, page, len - 1, &out), 0);
      for (max = 1; max < len; max += 1 + rng_below (&rng, 400))
        assert_int_equal (codec_compress (ctx, NULL, page, max, &out), 0);
      /* lz4 fits exactly; zstd may want some bytes of room. */
      assert_in_range (codec_compress (ctx, NULL, page,
                                       len + 64 < MAX_LEN ? len + 64 : MAX_LEN,
                                       &out),
                       1, len + 64);
    }
    codec_put (ctx);
    codec_pool_destroy (pool);
  }
}

static void
decompressing_is_all_or_eio (struct codec_ctx *ctx, enum codec_id id,
                             const void *bytes, size_t len)
{
  struct {
    uint8_t page[ZSPAGE_PAGE_SIZE];
    uint8_t beyond[64];
  } to;
  const uint8_t *data = guarded (bytes, len);
  size_t i;
  int r;

  memset (&to, 0x77, sizeof to);
  r = codec_decompress (ctx, id, NULL, data, len, to.page);
  assert_true (r == 0 || r == -EIO);
  for (i = 0; i < sizeof to.beyond; ++i)
    assert_int_equal (to.beyond[i], 0x77);
}

static void
hostile_data_do_no_harm (void **state)
{
  struct rng rng = rng_make (4);
  size_t i, n = test_scaled (20000);
  int id;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_pool *pool = default_pool (id);
    struct codec_ctx *ctx = codec_get (pool);

    for (i = 0; i < n; ++i) {
      uint8_t page[ZSPAGE_PAGE_SIZE], data[ZSPAGE_PAGE_SIZE];
      const void *out;
      size_t len, flips;

      memset (data, 0, sizeof data);
      /* Random bytes. */
      len = rng_below (&rng, sizeof data);
      rng_bytes (&rng, data, len);
      decompressing_is_all_or_eio (ctx, id, data, len);

      page_make (PAGE_NOISE, &rng, page);
      len = codec_compress (ctx, NULL, page, MAX_LEN, &out);
      if (len == 0)
        continue;
      memcpy (data, out, len);
      /* Truncated: must be noticed. */
      assert_int_equal (
        codec_decompress (ctx, id, NULL, data, rng_below (&rng, len), page),
        -EIO);
      /* Some bits flipped. */
      for (flips = 1 + rng_below (&rng, 4); flips > 0; --flips)
        data[rng_below (&rng, len)] ^= 1u << rng_below (&rng, 8);
      decompressing_is_all_or_eio (ctx, id, data, len);
      /* Longer than it was. */
      decompressing_is_all_or_eio (ctx, id, data,
                                   rng_range (&rng, len, sizeof data));
    }
    codec_put (ctx);
    codec_pool_destroy (pool);
  }
}

/* A few bytes after what is needed are an error, and nothing beyond them is
 * looked at.
 */
static void
what_follows_the_data_is_an_error (void **state)
{
  struct rng rng = rng_make (7);
  uint8_t page[ZSPAGE_PAGE_SIZE], data[ZSPAGE_PAGE_SIZE];
  const void *out;
  size_t len, more;
  int id;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_pool *pool = default_pool (id);
    struct codec_ctx *ctx = codec_get (pool);

    page_make (PAGE_TEXT, &rng, page);
    len = codec_compress (ctx, NULL, page, MAX_LEN, &out);
    assert_true (len > 0);
    memset (data, 0, sizeof data);
    memcpy (data, out, len);
    for (more = 1; more < 20; ++more)
      assert_int_equal (codec_decompress (ctx, id, NULL,
                                          guarded (data, len + more),
                                          len + more, page),
                        -EIO);
    /* Nor before they begin. */
    for (more = 0; more < 8; ++more)
      assert_int_equal (
        codec_decompress (ctx, id, NULL, guarded (data, more), more, page),
        -EIO);
    codec_put (ctx);
    codec_pool_destroy (pool);
  }
}

/* Half a page and half a page are not what a compressor makes of one. */
static void
two_frames_of_half_a_page_are_an_error (void **state)
{
  /* Frames of a block that repeats one byte 2048 times. */
  static const uint8_t halves[] = {0, 0x10, 0x03, 0x40, 0, 'x',
                                   0, 0x10, 0x03, 0x40, 0, 'x'};
  static const uint8_t whole[] = {0, 0x10, 0x03, 0x80, 0, 'x'};
  struct codec_pool *pool = default_pool (CODEC_ZSTD);
  struct codec_ctx *ctx = codec_get (pool);
  uint8_t page[ZSPAGE_PAGE_SIZE];

  (void) state;
  assert_int_equal (codec_decompress (ctx, CODEC_ZSTD, NULL,
                                      guarded (whole, sizeof whole),
                                      sizeof whole, page),
                    0);
  assert_int_equal (codec_decompress (ctx, CODEC_ZSTD, NULL,
                                      guarded (halves, sizeof halves),
                                      sizeof halves, page),
                    -EIO);
  codec_put (ctx);
  codec_pool_destroy (pool);
}

static void
a_context_survives_damaged_data (void **state)
{
  struct rng rng = rng_make (5);
  uint8_t page[ZSPAGE_PAGE_SIZE], garbage[300];
  int id, i;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    struct codec_pool *pool = default_pool (id);

    for (i = 0; i < 100; ++i) {
      struct codec_ctx *ctx = codec_get (pool);
      uint8_t out[ZSPAGE_PAGE_SIZE];

      rng_bytes (&rng, garbage, sizeof garbage);
      codec_decompress (ctx, id, NULL, garbage, sizeof garbage, out);
      codec_put (ctx);
      page_make (PAGE_TEXT, &rng, page);
      check_round_trip (pool, page);
    }
    codec_pool_destroy (pool);
  }
}

static void
a_pool_of_one_codec_decompresses_the_others (void **state)
{
  struct rng rng = rng_make (6);
  uint8_t page[ZSPAGE_PAGE_SIZE], back[ZSPAGE_PAGE_SIZE];
  int from, to;

  (void) state;
  for (from = 0; from < CODEC_COUNT; ++from) {
    struct codec_pool *pool = default_pool (from);
    struct codec_ctx *ctx = codec_get (pool);
    const void *out;
    size_t len;

    page_make (PAGE_TEXT, &rng, page);
    len = codec_compress (ctx, NULL, page, MAX_LEN, &out);
    assert_true (len > 0);
    for (to = 0; to < CODEC_COUNT; ++to) {
      struct codec_pool *other = default_pool (to);
      struct codec_ctx *other_ctx = codec_get (other);

      assert_int_equal (
        codec_decompress (other_ctx, from, NULL, out, len, back), 0);
      assert_memory_equal (back, page, sizeof page);
      codec_put (other_ctx);
      codec_pool_destroy (other);
    }
    codec_put (ctx);
    codec_pool_destroy (pool);
  }
}

static void
same_filled_is_exact (void **state)
{
  static const uint64_t values[] = {0, 1, UINT64_MAX,
                                    UINT64_C (0x0102030405060708)};
  uint8_t page[ZSPAGE_PAGE_SIZE + 8];
  uint64_t value;
  size_t v, at, shift;

  (void) state;
  for (shift = 0; shift < 8; shift += 3) {
    for (v = 0; v < NELEM (values); ++v) {
      uint8_t *p = page + shift;

      codec_fill (p, values[v]);
      assert_true (codec_same_filled (p, &value));
      assert_true (value == values[v]);
      for (at = 0; at < ZSPAGE_PAGE_SIZE; ++at) {
        p[at] ^= 1u << at % 8;
        assert_false (codec_same_filled (p, &value));
        p[at] ^= 1u << at % 8;
      }
    }
  }
}

static void
a_period_other_than_8_bytes_is_not_same_filled (void **state)
{
  static const size_t periods[] = {3, 5, 7, 12, 16, 24, 64, 2048};
  uint8_t page[ZSPAGE_PAGE_SIZE];
  uint64_t value;
  size_t i, k;

  (void) state;
  for (k = 0; k < NELEM (periods); ++k) {
    for (i = 0; i < sizeof page; ++i)
      page[i] = i % periods[k] == 0 ? 0x55 : 0x66;
    assert_false (codec_same_filled (page, &value));
  }
  for (i = 0; i < sizeof page; ++i)
    page[i] = i % 4 == 0 ? 0x55 : 0x66;
  assert_true (codec_same_filled (page, &value));
}

#define NR_THREADS 8

static struct codec_pool *shared_pool;
static _Atomic int inside, most_inside, mistakes;

static void *
use_contexts (void *arg)
{
  struct rng rng = rng_make (100 + (uintptr_t) arg);
  uint8_t page[ZSPAGE_PAGE_SIZE], back[ZSPAGE_PAGE_SIZE];
  size_t i, n = test_scaled (2000);
  const void *out;

  for (i = 0; i < n; ++i) {
    struct codec_ctx *ctx = codec_get (shared_pool);
    int now = ++inside, most = most_inside;
    size_t len;

    while (now > most &&
           !atomic_compare_exchange_weak (&most_inside, &most, now))
      ;
    page_make (PAGE_TEXT, &rng, page);
    len = codec_compress (ctx, NULL, page, MAX_LEN, &out);
    if (i % 64 == 0)
      sched_yield (); /* while others want it */
    if (len == 0 ||
        codec_decompress (ctx, codec_pool_id (shared_pool), NULL, out, len,
                          back) < 0 ||
        memcmp (page, back, sizeof page) != 0)
      mistakes++;
    inside--;
    codec_put (ctx);
  }
  return NULL;
}

static void
more_threads_than_contexts_wait_for_them (void **state)
{
  const int nr_contexts = 2;
  pthread_t threads[NR_THREADS];
  uintptr_t i;
  int id;

  (void) state;
  for (id = 0; id < CODEC_COUNT; ++id) {
    shared_pool = pool_of (id, codec_levels (id).dflt, nr_contexts);
    inside = most_inside = mistakes = 0;
    for (i = 0; i < NR_THREADS; ++i)
      assert_int_equal (
        pthread_create (&threads[i], NULL, use_contexts, (void *) i), 0);
    for (i = 0; i < NR_THREADS; ++i)
      pthread_join (threads[i], NULL);
    assert_int_equal (mistakes, 0);
    assert_in_range (most_inside, 1, nr_contexts);
    codec_pool_destroy (shared_pool);
  }
}

/* State files have it, and go from one processor to another.  The values are of
 * libxxhash itself.
 */
static void
the_hash_is_xxh3_whatever_the_processor_has (void **state)
{
  static const struct {
    size_t len;
    uint64_t hash;
  } known[] = {
    {0, UINT64_C (0x2d06800538d394c2)},
    {8, UINT64_C (0xa37c69c62fc54b98)},
    {100, UINT64_C (0x807294b5413f26a1)},
    {240, UINT64_C (0xf25e70a514af7e8b)},
    {241, UINT64_C (0x1daededd5eb1307f)},
    {1024, UINT64_C (0xf2facfb9a235da35)},
    {1362, UINT64_C (0x9a0dac9bc302308d)},
    {ZSPAGE_PAGE_SIZE, UINT64_C (0x65b40bac274cc1af)},
  };
  uint8_t data[ZSPAGE_PAGE_SIZE + 1];
  size_t i;

  (void) state;
  for (i = 0; i < sizeof data; ++i)
    data[i] = i * i * 7 + i / 256;
  for (i = 0; i < NELEM (known); ++i) {
    /* Not aligned, and nothing beyond is read. */
    assert_true (codec_hash (data + 1, known[i].len) == known[i].hash);
    assert_true (codec_hash (guarded (data + 1, known[i].len), known[i].len) ==
                 known[i].hash);
  }
}

static void
the_default_number_of_contexts_follows_the_processors (void **state)
{
  struct codec_pool *one = default_pool (CODEC_ZSTD);
  struct codec_pool *dflt = pool_of (CODEC_ZSTD, 3, 0);

  (void) state;
  assert_true (codec_pool_bytes (dflt) > codec_pool_bytes (one));
  /* Sized for one page, not for streams. */
  print_message ("a context of zstd: %zu bytes\n", codec_pool_bytes (one));
  assert_true (codec_pool_bytes (one) < 400 * 1024);
  codec_pool_destroy (one);
  codec_pool_destroy (dflt);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (names_are_those_of_zram),
    cmocka_unit_test (every_level_gives_back_what_it_got),
    cmocka_unit_test (levels_out_of_range_are_refused),
    cmocka_unit_test (what_does_not_compress_returns_0),
    cmocka_unit_test (max_len_is_honoured),
    cmocka_unit_test (hostile_data_do_no_harm),
    cmocka_unit_test (what_follows_the_data_is_an_error),
    cmocka_unit_test (two_frames_of_half_a_page_are_an_error),
    cmocka_unit_test (a_context_survives_damaged_data),
    cmocka_unit_test (a_pool_of_one_codec_decompresses_the_others),
    cmocka_unit_test (same_filled_is_exact),
    cmocka_unit_test (a_period_other_than_8_bytes_is_not_same_filled),
    cmocka_unit_test (the_hash_is_xxh3_whatever_the_processor_has),
    cmocka_unit_test (more_threads_than_contexts_wait_for_them),
    cmocka_unit_test (the_default_number_of_contexts_follows_the_processors),
  };

  return cmocka_run_group_tests (tests, setup, NULL);
}
