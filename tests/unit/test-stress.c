/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that write, read, trim, compact and look at the figures of one store
 * at once.  What is stored describes itself, so that a torn, stale, lost or
 * foreign page is noticed by whoever reads it.
 *
 *   owned   a page has one writer, which knows exactly what must be there;
 *           others see versions that never go back
 *   split   the quarters of a page have different writers, which write them
 *           as parts: none may lose what another wrote
 *   shared  everybody writes, several pages at once, and trims: each page is
 *           whole
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "store-fixture.h"

#define NR_WRITERS 4
#define BLOCK      (PAGE / NR_WRITERS)

/* Regions, in pages; the last is not a multiple of the table page's 512. */
#define OWNED_FIRST  0u
#define OWNED_PAGES  600u
#define SPLIT_FIRST  OWNED_PAGES
#define SPLIT_PAGES  300u
#define HOT_PAGES    3u
#define SHARED_FIRST (SPLIT_FIRST + SPLIT_PAGES)
#define SHARED_PAGES 500u
#define NR_PAGES     (SHARED_FIRST + SHARED_PAGES)
#define MAX_RUN      40u /* also what the crew helps with */

/* What a block says of itself; then noise, and a byte repeated. */
struct block {
  uint32_t magic, page, block, writer;
  uint64_t version;
  uint32_t noise, sum; /* of all but sum */
};
#define MAGIC 0x5a53424cu

struct shared {
  struct store_fixture f;
  struct stats_device device;
  size_t ops; /* of each writer */
  bool may_fail;
  _Atomic bool stop;
  _Atomic size_t failed, compacted;
  pthread_mutex_t lock;
  char why[200]; /* the first mistake */
};

struct worker {
  struct shared *s;
  unsigned id;
  struct rng rng;
  uint64_t version;
  /* What must be there; 0: nothing. */
  uint64_t owned[OWNED_PAGES], split[SPLIT_PAGES];
  /* The last seen of others' pages. */
  uint64_t seen[OWNED_PAGES];
  uint8_t buf[MAX_RUN * PAGE];
};

static bool
is_wrong (const struct shared *s)
{
  return atomic_load (&s->stop);
}

#define WRONG(s, ...)                                                          \
  do {                                                                         \
    pthread_mutex_lock (&(s)->lock);                                           \
    if ((s)->why[0] == '\0')                                                   \
      snprintf ((s)->why, sizeof (s)->why, __VA_ARGS__);                       \
    pthread_mutex_unlock (&(s)->lock);                                         \
    (s)->stop = true;                                                          \
  } while (0)

static uint32_t
sum_of (const uint8_t *p, size_t len)
{
  uint64_t sum = 1, word;
  size_t i;

  for (i = 0; i < len; i += sizeof word) {
    memcpy (&word, p + i, sizeof word);
    if (i == offsetof (struct block, noise))
      word = (uint32_t) word; /* not the sum itself */
    sum = (sum ^ word) * UINT64_C (0x9e3779b97f4a7c15);
    sum ^= sum >> 29;
  }
  return sum;
}

static void
block_make (struct worker *w, uint32_t page, uint32_t block, uint8_t *p)
{
  struct block b = {.magic = MAGIC,
                    .page = page,
                    .block = block,
                    .writer = w->id,
                    .version = w->version};
  size_t room = BLOCK - sizeof b;

  b.noise = rng_one_in (&w->rng, 4) ? room : rng_below (&w->rng, room);
  rng_bytes (&w->rng, p + sizeof b, b.noise);
  memset (p + sizeof b + b.noise, w->version, room - b.noise);
  memcpy (p, &b, sizeof b);
  b.sum = sum_of (p, BLOCK);
  memcpy (p, &b, sizeof b);
}

static void
page_of_blocks (struct worker *w, uint32_t page, uint8_t *p)
{
  uint32_t i;

  for (i = 0; i < NR_WRITERS; ++i)
    block_make (w, page, i, p + i * BLOCK);
}

/* The version of a block, 0 if it is zeros; else something is wrong. */
static uint64_t
block_version (struct worker *w, uint32_t page, uint32_t block,
               const uint8_t *p, uint32_t *writer)
{
  static const uint8_t zeros[BLOCK];
  struct block b;

  *writer = 0;
  if (memcmp (p, zeros, BLOCK) == 0)
    return 0;
  memcpy (&b, p, sizeof b);
  if (b.magic != MAGIC || b.sum != sum_of (p, BLOCK))
    WRONG (w->s, "page %u, block %u: torn", page, block);
  else if (b.page != page || b.block != block)
    WRONG (w->s, "page %u, block %u: holds page %u, block %u", page, block,
           b.page, b.block);
  *writer = b.writer;
  return b.version;
}

/* The version of a page that is written as a whole. */
static uint64_t
page_version (struct worker *w, uint32_t page, const uint8_t *p,
              uint32_t *writer)
{
  uint64_t version = block_version (w, page, 0, p, writer);
  uint32_t i, other;

  for (i = 1; i < NR_WRITERS; ++i)
    if (block_version (w, page, i, p + i * BLOCK, &other) != version ||
        other != *writer)
      WRONG (w->s, "page %u is of several writes", page);
  return version;
}

/* Whether it was written; if not, that must be legal. */
static bool
write_bytes (struct worker *w, const void *data, size_t len, uint64_t offset)
{
  int r = store_write (w->s->f.store, data, len, offset);

  if (r == 0)
    return true;
  if (r != -ENOSPC || !w->s->may_fail)
    WRONG (w->s, "write: %s", strerror (-r));
  w->s->failed++;
  return false;
}

static void
read_bytes (struct worker *w, void *buf, size_t len, uint64_t offset)
{
  int r = store_read (w->s->f.store, buf, len, offset);

  if (r < 0) {
    memset (buf, 0, len);
    WRONG (w->s, "read at %llu: %s", (unsigned long long) offset,
           strerror (-r));
  }
}

static void
use_owned (struct worker *w)
{
  uint32_t i = rng_below (&w->rng, OWNED_PAGES), writer;
  uint64_t offset = (uint64_t) (OWNED_FIRST + i) * PAGE, version;
  bool mine = i % NR_WRITERS == w->id;

  if (mine && rng_one_in (&w->rng, 2)) {
    page_of_blocks (w, OWNED_FIRST + i, w->buf);
    if (write_bytes (w, w->buf, PAGE, offset))
      w->owned[i] = w->version;
  }
  else if (mine && rng_one_in (&w->rng, 4)) {
    store_trim (w->s->f.store, PAGE, offset);
    w->owned[i] = 0;
  }
  read_bytes (w, w->buf, PAGE, offset);
  version = page_version (w, OWNED_FIRST + i, w->buf, &writer);
  if (mine ? version != w->owned[i] : version && version < w->seen[i])
    WRONG (w->s, "page %u has version %llu, not %llu", i,
           (unsigned long long) version,
           (unsigned long long) (mine ? w->owned[i] : w->seen[i]));
  if (version)
    w->seen[i] = version;
}

static void
use_split (struct worker *w)
{
  /* Often all writers are at the same few pages. */
  uint32_t nr = rng_one_in (&w->rng, 2) ? HOT_PAGES : SPLIT_PAGES;
  uint32_t i = rng_below (&w->rng, nr), writer;
  uint64_t page = SPLIT_FIRST + i;
  uint64_t offset = page * PAGE + w->id * BLOCK, version;

  if (rng_one_in (&w->rng, 2)) {
    if (w->split[i] && rng_one_in (&w->rng, 8)) {
      int r = store_zero (w->s->f.store, BLOCK, offset);

      if (r == 0)
        w->split[i] = 0;
      else if (r != -ENOSPC || !w->s->may_fail)
        WRONG (w->s, "zero: %s", strerror (-r));
    }
    else {
      block_make (w, page, w->id, w->buf);
      if (write_bytes (w, w->buf, BLOCK, offset))
        w->split[i] = w->version;
    }
  }
  read_bytes (w, w->buf, BLOCK, offset);
  version = block_version (w, page, w->id, w->buf, &writer);
  if (version != w->split[i])
    WRONG (w->s, "page %u, block %u has version %llu, not %llu",
           (unsigned) page, w->id, (unsigned long long) version,
           (unsigned long long) w->split[i]);
}

static void
use_shared (struct worker *w)
{
  uint32_t n = rng_range (&w->rng, 1, MAX_RUN), writer, i;
  uint32_t first = SHARED_FIRST + rng_below (&w->rng, SHARED_PAGES - n);
  uint64_t offset = (uint64_t) first * PAGE;

  switch (rng_below (&w->rng, 8)) {
  case 0:
    store_trim (w->s->f.store, n * PAGE, offset);
    break;
  case 1:
    store_zero (w->s->f.store, n * PAGE, offset);
    break;
  case 2:
  case 3:
  case 4:
    for (i = 0; i < n; ++i)
      page_of_blocks (w, first + i, w->buf + i * PAGE);
    write_bytes (w, w->buf, n * PAGE, offset);
    break;
  default:
    read_bytes (w, w->buf, n * PAGE, offset);
    for (i = 0; i < n; ++i)
      page_version (w, first + i, w->buf + i * PAGE, &writer);
  }
}

static void *
work (void *opaque)
{
  struct worker *w = opaque;
  size_t op;

  for (op = 0; op < w->s->ops && !is_wrong (w->s); ++op) {
    w->version++;
    switch (rng_below (&w->rng, 8)) {
    case 0:
    case 1:
    case 2:
      use_owned (w);
      break;
    case 3:
    case 4:
    case 5:
      use_split (w);
      break;
    default:
      use_shared (w);
    }
  }
  return NULL;
}

/* Compaction, and the whole of the split and owned regions' table trimmed
 * away beside them: neither may be noticed.
 */
static void *
compact (void *opaque)
{
  struct shared *s = opaque;

  while (!s->stop) {
    s->compacted += store_compact (s->f.store);
    sched_yield ();
  }
  return NULL;
}

static void *
feed (void *opaque)
{
  struct shared *s = opaque;
  bool more;

  while (!s->stop) {
    store_feed (s->f.store, &more);
    sched_yield ();
  }
  return NULL;
}

static bool
count_zeros (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  (void) offset;
  *(uint64_t *) opaque += zero ? len : 0;
  return true;
}

static void *
look (void *opaque)
{
  struct shared *s = opaque;
  uint64_t size = store_disksize (s->f.store);

  while (!s->stop) {
    struct store_stats stats = store_stats_now (s->f.store);
    uint64_t zeros = 0;
    char *text;

    if (stats.orig_data_size > size || stats.compr_data_size > NR_PAGES * PAGE)
      WRONG (s, "figures beyond the device");
    if (s->may_fail && stats.mem_used_total > stats.mem_limit)
      WRONG (s, "more memory than the limit");
    store_extents (s->f.store, size, 0, count_zeros, &zeros);
    if (zeros > size)
      WRONG (s, "more zeros than the device has");
    text = stats_classes (&s->device);
    free (text);
    text = stats_json (&s->device);
    free (text);
    sched_yield ();
  }
  return NULL;
}

/* Everything that the writers know of, once more at the end. */
static void
check_at_rest (struct worker *w)
{
  uint32_t i, writer;

  for (i = w->id; i < OWNED_PAGES; i += NR_WRITERS) {
    read_bytes (w, w->buf, PAGE, (uint64_t) (OWNED_FIRST + i) * PAGE);
    if (page_version (w, OWNED_FIRST + i, w->buf, &writer) != w->owned[i])
      WRONG (w->s, "in the end page %u is not what was written", i);
  }
  for (i = 0; i < SPLIT_PAGES; ++i) {
    uint32_t page = SPLIT_FIRST + i;

    read_bytes (w, w->buf, BLOCK, (uint64_t) page * PAGE + w->id * BLOCK);
    if (block_version (w, page, w->id, w->buf, &writer) != w->split[i])
      WRONG (w->s, "in the end page %u, block %u is not what was written", page,
             w->id);
  }
}

static void
stress (struct store_params params, bool failing_memory, size_t ops)
{
  struct shared *s = calloc (1, sizeof *s);
  struct worker *w = calloc (NR_WRITERS, sizeof *w);
  pthread_t threads[NR_WRITERS], others[3];
  unsigned i;

  assert_true (s && w);
  pthread_mutex_init (&s->lock, NULL);
  params.nr_pages = NR_PAGES;
  params.reserve_pages = 4;
  store_fixture_init (&s->f, params);
  s->device =
    (struct stats_device){.name = "test",
                          .store = s->f.store,
                          .comp_algorithm = codec_name (params.codec)};
  s->ops = ops;
  s->may_fail = params.limit_pages > 0;
  if (failing_memory) {
    s->may_fail = true;
    store_set_mem_limit (s->f.store, NR_PAGES * 2 * PAGE);
    fail_ops.fail_one_in = 3;
  }
  for (i = 0; i < NR_WRITERS; ++i) {
    w[i].s = s;
    w[i].id = i;
    w[i].rng = rng_make (100 * params.codec + i);
    assert_int_equal (pthread_create (&threads[i], NULL, work, &w[i]), 0);
  }
  assert_int_equal (pthread_create (&others[0], NULL, compact, s), 0);
  assert_int_equal (pthread_create (&others[1], NULL, look, s), 0);
  assert_int_equal (pthread_create (&others[2], NULL, feed, s), 0);
  for (i = 0; i < NR_WRITERS; ++i)
    pthread_join (threads[i], NULL);
  s->stop = true;
  pthread_join (others[0], NULL);
  pthread_join (others[1], NULL);
  pthread_join (others[2], NULL);

  for (i = 0; i < NR_WRITERS && s->why[0] == '\0'; ++i)
    check_at_rest (&w[i]);
  if (s->why[0])
    fail_msg ("ZSPAGE_SEED=%llu: %s", (unsigned long long) test_seed (),
              s->why);
  print_message ("%s, chain %u: %zu writes failed as they may, %zu pages "
                 "compacted, %zu objects moved\n",
                 codec_name (params.codec), params.chain_size, s->failed,
                 s->compacted,
                 (size_t) store_stats_now (s->f.store).objects_moved);
  /* Of memory that fails now and then, most writes get some at last. */
  if (params.limit_pages && ops >= 5000)
    assert_true (s->failed > 0);
  if (failing_memory)
    assert_true (fail_ops.failed > 0);
  store_fixture_fini (&s->f);
  pthread_mutex_destroy (&s->lock);
  free (s);
  free (w);
}

static void
with_memory_enough (void **state)
{
  (void) state;
  stress ((struct store_params){.codec = CODEC_LZ4, .chain_size = 8}, false,
          test_ops (30000));
  stress ((struct store_params){.codec = CODEC_ZSTD, .chain_size = 16}, false,
          test_ops (30000));
}

static void
near_the_limit (void **state)
{
  (void) state;
  stress ((struct store_params){.codec = CODEC_LZ4,
                                .chain_size = 4,
                                .limit_pages = 650},
          false, test_ops (30000));
}

static void
with_memory_that_fails (void **state)
{
  (void) state;
  stress ((struct store_params){.codec = CODEC_ZSTD, .chain_size = 8}, true,
          test_ops (10000));
}

static void
with_memory_ahead (void **state)
{
  const struct store_params params = {
    .codec = CODEC_LZ4, .chain_size = 8, .ahead_pages = 200};

  (void) state;
  stress (params, false, test_ops (20000));
  stress (params, true, test_ops (10000));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (with_memory_enough),
    cmocka_unit_test (near_the_limit),
    cmocka_unit_test (with_memory_that_fails),
    cmocka_unit_test (with_memory_ahead),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
