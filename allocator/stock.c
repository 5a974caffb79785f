/* SPDX-License-Identifier: BSD-3-Clause */
/* Stock: zspages that have memory and that nobody uses.
 *
 * A fresh page costs a page fault, which is several times the price of
 * compressing a page, so zspages that become empty stay populated as stock and
 * are used again, and the kernel is asked, and given back to, in batches.
 *
 * Stock is bounded: above stock_high() pages, all above stock_low() goes back
 * to the kernel, first from chunks that nobody uses (one large piece), then
 * from those with most stock.  The gap between the two is the hysteresis.
 * What zs_feed keeps of each kind does not count.
 */
#include "zspool-internal.h"

static size_t
clamp (size_t x, size_t lo, size_t hi)
{
  return x < lo ? lo : x > hi ? hi : x;
}

static size_t
stock_low (const struct zs_pool *pool)
{
  size_t used = atomic_load_explicit (&pool->pages_used, memory_order_relaxed);

  return clamp (used / 256, 16, 4096);
}

static size_t
stock_high (const struct zs_pool *pool)
{
  size_t used = atomic_load_explicit (&pool->pages_used, memory_order_relaxed);

  return stock_low (pool) + clamp (used / 16, 64, 8192);
}

static size_t
spare_pages (const struct zs_pool *pool)
{
  return atomic_load_explicit (&pool->spare_pages, memory_order_relaxed);
}

/* One zspage of a kind more, or with sign -1 less; is_spare: beyond what
 * zs_feed keeps.
 */
static void
count_locked (struct zs_pool *pool, const struct zs_kind *kind, bool is_spare,
              int sign)
{
  size_t pages = (size_t) (sign * (ptrdiff_t) kind->pages);

  atomic_fetch_add_explicit (&pool->stock_pages, pages, memory_order_relaxed);
  if (is_spare)
    atomic_fetch_add_explicit (&pool->spare_pages, pages, memory_order_relaxed);
}

void
stock_push_locked (struct zs_pool *pool, struct zspage *z)
{
  struct zs_chunk *chunk = &pool->chunks[z->page / ZSPAGE_CHUNK_PAGES];
  struct zs_kind *kind = &pool->kinds[chunk->kind];

  z->state = ZSPAGE_STOCK;
  z->prev = 0;
  z->next = kind->stock;
  if (z->next)
    zs_desc (pool, z->next)->prev = zs_desc_idx (pool, z);
  kind->stock = zs_desc_idx (pool, z);
  kind->nr_stock++;
  chunk->nr_active--;
  chunk->nr_stock++;
  count_locked (pool, kind, kind->nr_stock > kind->nr_ahead, 1);
}

void
stock_take_locked (struct zs_pool *pool, struct zspage *z)
{
  struct zs_chunk *chunk = &pool->chunks[z->page / ZSPAGE_CHUNK_PAGES];
  struct zs_kind *kind = &pool->kinds[chunk->kind];

  if (z->next)
    zs_desc (pool, z->next)->prev = z->prev;
  if (z->prev)
    zs_desc (pool, z->prev)->next = z->next;
  else
    kind->stock = z->next;
  z->state = ZSPAGE_BUSY;
  count_locked (pool, kind, kind->nr_stock > kind->nr_ahead, -1);
  kind->nr_stock--;
  chunk->nr_stock--;
  chunk->nr_active++;
}

static bool
kind_has_spare (const struct zs_kind *kind, bool all)
{
  return kind->nr_stock > (all ? 0 : kind->nr_ahead);
}

/* Release runs of a chunk's stock; all: also what zs_feed keeps.  Drops and
 * retakes chunk_lock.
 */
static void
chunk_trim_locked (struct zs_pool *pool, uint32_t c, bool all)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];
  size_t stride = zs_kind_stride (kind);
  unsigned i = 0, n, nr_zspages = kind->nr_zspages;
  desc_idx descs = chunk->descs;

  while (i < nr_zspages && chunk->nr_stock > 0 && kind_has_spare (kind, all)) {
    struct zspage *first = zs_desc (pool, descs + i * stride);
    int r;

    for (n = 0; i + n < nr_zspages; ++n) {
      struct zspage *z = zs_desc (pool, descs + (i + n) * stride);

      if (z->state != ZSPAGE_STOCK || !kind_has_spare (kind, all))
        break;
      stock_take_locked (pool, z);
    }
    i += n + 1;
    if (n == 0)
      continue;

    /* The BUSY run keeps the chunk from being reused meanwhile. */
    ranked_unlock (&pool->chunk_lock);
    r = zspages_release (pool, first->page, (size_t) n * kind->pages);
    ranked_lock (&pool->chunk_lock);
    if (r < 0) {
      while (n > 0)
        stock_push_locked (
          pool, zs_desc (pool, zs_desc_idx (pool, first) + --n * stride));
      return;
    }
    holes_return_locked (pool, c, first, n);
    if (chunk->kind == ZSPAGE_CHUNK_FREE || chunk->descs != descs)
      return; /* that was its last, and it may be in use for another kind */
  }
}

/* Whether to take stock from this chunk: the more it has, the earlier, as
 * releasing one large piece costs far less than many small ones.
 */
static bool
chunk_is_worth_trimming (const struct zs_pool *pool,
                         const struct zs_chunk *chunk, int pass, bool all)
{
  const struct zs_kind *kind = &pool->kinds[chunk->kind];
  unsigned nr_zspages = kind->nr_zspages;

  if (chunk->kind == ZSPAGE_CHUNK_FREE || chunk->nr_stock == 0 ||
      !kind_has_spare (kind, all))
    return false;
  switch (pass) {
  case 0:
    return chunk->nr_active == 0 && chunk->nr_kept == 0;
  case 1:
    return chunk->nr_stock >= nr_zspages / 2;
  case 2:
    return chunk->nr_stock >= nr_zspages / 4;
  default:
    return true;
  }
}

/* Give spare stock back until keep_pages are left; what is scattered over
 * chunks in use, only until keep_scattered are left, as it may grow together.
 * all: of all stock.
 */
static void
stock_trim_locked (struct zs_pool *pool, size_t keep_pages,
                   size_t keep_scattered, bool all)
{
  _Atomic size_t *figure = all ? &pool->stock_pages : &pool->spare_pages;
  int pass;
  uint32_t c;

  if (pool->trimming)
    return;
  pool->trimming = true;
  for (pass = 0; pass < 4; ++pass) {
    for (c = 0; c < pool->next_chunk; ++c) {
      if (atomic_load_explicit (figure, memory_order_relaxed) <=
          (pass < 3 ? keep_pages : keep_scattered))
        break;
      if (chunk_is_worth_trimming (pool, &pool->chunks[c], pass, all))
        chunk_trim_locked (pool, c, all);
    }
  }
  pool->trimming = false;
}

void
stock_bound_locked (struct zs_pool *pool)
{
  size_t low = stock_low (pool), high = stock_high (pool);

  if (spare_pages (pool) > high)
    stock_trim_locked (pool, low, (low + high) / 2, false);
}

size_t
zs_excess_stock (const struct zs_pool *pool)
{
  size_t spare = spare_pages (pool), low = stock_low (pool);

  return spare > low ? spare - low : 0;
}

void
zs_trim_excess (struct zs_pool *pool, size_t most)
{
  size_t spare, excess;

  ranked_lock (&pool->chunk_lock);
  excess = zs_excess_stock (pool);
  spare = spare_pages (pool);
  if (excess > 0 && spare >= excess) {
    spare -= excess < most ? excess : most;
    stock_trim_locked (pool, spare, spare, false);
  }
  ranked_unlock (&pool->chunk_lock);
}

void
zs_trim_stock (struct zs_pool *pool, size_t keep_pages)
{
  ranked_lock (&pool->chunk_lock);
  stock_trim_locked (pool, keep_pages, keep_pages, true);
  ranked_unlock (&pool->chunk_lock);
}
