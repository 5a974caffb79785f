/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs by name, and the pool of contexts.
 *
 * A context has room for one compressor, for a decompressor of each codec that
 * needs one, and for the output.  All are in one mapping, so that what
 * is never used takes no memory: a pool of lz4 never touches its zstd
 * decompressors, which are set up by their first user.
 *
 * A thread prefers the contexts of the processor that it runs on, so that in
 * the common case nobody waits and no cache line moves.
 */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec-internal.h"
#include "ranked-lock.h"
#include "zspage-page.h"

#define CTX_PER_CPU 2

static const struct codec_ops *const codecs[CODEC_COUNT] = {
  [CODEC_LZ4] = &codec_lz4,
  [CODEC_ZSTD] = &codec_zstd,
};

struct codec_ctx {
  struct ranked_lock lock; /* who holds it, has the context */
  const struct codec_pool *pool;
  uint8_t *compressor, *output;
  uint8_t *decompressor[CODEC_COUNT]; /* NULL if none is needed */
  bool decompressor_ready[CODEC_COUNT];
} __attribute__ ((aligned (ZSPAGE_CACHE_LINE)));

struct codec_pool {
  enum codec_id id;
  int level;
  unsigned nr;
  uint8_t *map;
  size_t map_bytes;
  struct codec_ctx ctx[];
};

const char *
codec_name (enum codec_id id)
{
  return codecs[id]->name;
}

bool
codec_by_name (const char *name, enum codec_id *id)
{
  int i;

  for (i = 0; i < CODEC_COUNT; ++i) {
    if (strcmp (codecs[i]->name, name) == 0) {
      *id = i;
      return true;
    }
  }
  return false;
}

struct codec_level_range
codec_levels (enum codec_id id)
{
  return codecs[id]->levels ();
}

/* Carve out the parts of one context, or with base NULL only measure them. */
static size_t
ctx_layout (struct codec_ctx *ctx, enum codec_id id, int level, uint8_t *base)
{
  size_t used = 0;
  int i;

  if (base)
    ctx->compressor = base;
  used +=
    zspage_align_up (codecs[id]->compress_bytes (level), ZSPAGE_CACHE_LINE);
  if (base)
    ctx->output = base + used;
  used += CODEC_OUTPUT_BYTES;
  for (i = 0; i < CODEC_COUNT; ++i) {
    if (codecs[i]->decompress_bytes == NULL)
      continue;
    /* On pages of its own, as it may never be touched. */
    used = zspage_align_up (used, ZSPAGE_PAGE_SIZE);
    if (base)
      ctx->decompressor[i] = base + used;
    used += codecs[i]->decompress_bytes ();
  }
  return zspage_align_up (used, ZSPAGE_PAGE_SIZE);
}

int
codec_pool_create (enum codec_id id, int level, unsigned nr,
                   struct codec_pool **out)
{
  struct codec_level_range range = codec_levels (id);
  struct codec_pool *pool;
  size_t stride;
  unsigned i;
  int r;

  if (level < range.min || level > range.max)
    return -EINVAL;
  if (nr == 0) {
    long cpus = sysconf (_SC_NPROCESSORS_ONLN);

    nr = CTX_PER_CPU * (cpus > 0 ? cpus : 1);
  }
  if (posix_memalign ((void **) &pool, ZSPAGE_CACHE_LINE,
                      sizeof *pool + nr * sizeof pool->ctx[0]) != 0)
    return -ENOMEM;
  memset (pool, 0, sizeof *pool + nr * sizeof pool->ctx[0]);
  pool->id = id;
  pool->level = level;
  pool->nr = nr;

  stride = ctx_layout (NULL, id, level, NULL);
  pool->map_bytes = stride * nr;
  pool->map = mmap (NULL, pool->map_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pool->map == MAP_FAILED) {
    free (pool);
    return -ENOMEM;
  }
  for (i = 0; i < nr; ++i) {
    struct codec_ctx *ctx = &pool->ctx[i];

    ranked_lock_init (&ctx->lock, RANK_CODEC);
    ctx->pool = pool;
    ctx_layout (ctx, id, level, pool->map + i * stride);
    r = codecs[id]->compress_setup (ctx->compressor,
                                    codecs[id]->compress_bytes (level), level);
    if (r < 0) {
      pool->nr = i + 1;
      codec_pool_destroy (pool);
      return r;
    }
  }
  *out = pool;
  return 0;
}

void
codec_pool_destroy (struct codec_pool *pool)
{
  unsigned i;

  if (pool == NULL)
    return;
  for (i = 0; i < pool->nr; ++i)
    ranked_lock_fini (&pool->ctx[i].lock);
  munmap (pool->map, pool->map_bytes);
  free (pool);
}

enum codec_id
codec_pool_id (const struct codec_pool *pool)
{
  return pool->id;
}

int
codec_pool_level (const struct codec_pool *pool)
{
  return pool->level;
}

size_t
codec_pool_bytes (const struct codec_pool *pool)
{
  return pool->map_bytes + sizeof *pool + pool->nr * sizeof pool->ctx[0];
}

struct codec_ctx *
codec_get (struct codec_pool *pool)
{
  int cpu = sched_getcpu ();
  unsigned first = (cpu > 0 ? cpu : 0) * CTX_PER_CPU % pool->nr;
  unsigned i;

  for (i = 0; i < pool->nr; ++i) {
    struct codec_ctx *ctx = &pool->ctx[(first + i) % pool->nr];

    if (ranked_trylock (&ctx->lock))
      return ctx;
  }
  ranked_lock (&pool->ctx[first].lock);
  return &pool->ctx[first];
}

enum codec_id
codec_ctx_id (const struct codec_ctx *ctx)
{
  return ctx->pool->id;
}

void
codec_put (struct codec_ctx *ctx)
{
  ranked_unlock (&ctx->lock);
}

void
codec_quiesce (struct codec_pool *pool)
{
  unsigned i;

  for (i = 0; i < pool->nr; ++i) {
    ranked_lock (&pool->ctx[i].lock);
    ranked_unlock (&pool->ctx[i].lock);
  }
}

void
codec_pool_warm (struct codec_pool *pool, bool any)
{
  size_t stride = pool->map_bytes / pool->nr, used, offset;
  unsigned i;

  /* Decompressors of other codecs come last, if they come. */
  used = pool->ctx[0].output + CODEC_OUTPUT_BYTES - pool->map;
  if (codec_decompress_needs_ctx (pool->id))
    used = pool->ctx[0].decompressor[pool->id] +
           codecs[pool->id]->decompress_bytes () - pool->map;
  if (any)
    used = stride;
  for (i = 0; i < pool->nr; ++i) {
    ranked_lock (&pool->ctx[i].lock);
    for (offset = 0; offset < used; offset += ZSPAGE_PAGE_SIZE) {
      volatile uint8_t *p = pool->map + i * stride + offset;

      *p = *p;
    }
    ranked_unlock (&pool->ctx[i].lock);
  }
}

size_t
codec_compress (struct codec_ctx *ctx, const struct dictionary *dictionary,
                const void *page, size_t max_len, const void **out)
{
  const struct codec_pool *pool = ctx->pool;
  const void *dict =
    dictionary ? dictionary_for_compressing (dictionary, pool->level) : NULL;

  *out = ctx->output;
  if (dictionary && dict == NULL)
    return 0;
  return codecs[pool->id]->compress (ctx->compressor, pool->level, dict, page,
                                     ctx->output, max_len);
}

bool
codec_decompress_needs_ctx (enum codec_id id)
{
  return codecs[id]->decompress_bytes != NULL;
}

int
codec_decompress (struct codec_ctx *ctx, enum codec_id id,
                  const struct dictionary *dictionary, const void *data,
                  size_t len, void *page)
{
  const void *dict =
    dictionary ? dictionary_for_decompressing (dictionary) : NULL;
  void *mem = NULL;

  if (codec_decompress_needs_ctx (id)) {
    mem = ctx->decompressor[id];
    if (!ctx->decompressor_ready[id]) {
      if (codecs[id]->decompress_setup (mem, codecs[id]->decompress_bytes ()) <
          0)
        return -EIO;
      ctx->decompressor_ready[id] = true;
    }
  }
  return codecs[id]->decompress (mem, dict, data, len, ctx ? ctx->output : NULL,
                                 page);
}
