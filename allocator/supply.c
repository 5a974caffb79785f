/* SPDX-License-Identifier: BSD-3-Clause */
/* Where classes get zspages from: stock, else holes that are populated; and the
 * pages kept for when the kernel refuses.
 *
 * The reserve and the bounce page are single pages (kind HUGE) set aside
 * before they are needed.  A huge page can hold any object, so they help
 * whatever size is asked for when the kernel refuses memory.
 */
#include "zspool-internal.h"

#include <errno.h>

/* The most pages populated ahead in one call. */
#define MAX_BATCH 64u
/* The same for zs_feed: others have what one call populated before the next. */
#define FEED_BATCH 64u

/* How many zspages to populate together: little while the pool is small. */
static unsigned
batch_size (const struct zs_pool *pool, const struct zs_kind *kind)
{
  size_t used = atomic_load_explicit (&pool->pages_used, memory_order_relaxed);
  size_t pages = used / 1024 < MAX_BATCH ? used / 1024 : MAX_BATCH;

  return pages < kind->pages ? 1 : pages / kind->pages;
}

/* Populate up to so many fresh zspages; the first is the caller's, the others
 * are stock.
 */
static int
grow_by (struct zs_pool *pool, unsigned k, unsigned want, struct zspage **z)
{
  struct zs_kind *kind = &pool->kinds[k];
  size_t stride = zs_kind_stride (kind);
  int n, i, r;

  ranked_lock (&pool->chunk_lock);
  n = holes_claim_locked (pool, k, want, z);
  ranked_unlock (&pool->chunk_lock);
  if (n < 0)
    return n;

  r = pool->config.os.populate (pool->config.os.opaque,
                                pool->config.data +
                                  (size_t) (*z)->page * ZSPAGE_PAGE_SIZE,
                                (size_t) n * kind->pages * ZSPAGE_PAGE_SIZE);
  if (r < 0)
    zspages_release (pool, (*z)->page, (size_t) n * kind->pages);

  ranked_lock (&pool->chunk_lock);
  if (r < 0)
    holes_return_locked (pool, (*z)->page / ZSPAGE_CHUNK_PAGES, *z, n);
  else {
    for (i = n - 1; i > 0; --i)
      stock_push_locked (pool,
                         zs_desc (pool, zs_desc_idx (pool, *z) + i * stride));
  }
  ranked_unlock (&pool->chunk_lock);
  return r;
}

static int
supply_grow (struct zs_pool *pool, unsigned k, struct zspage **z)
{
  unsigned want = batch_size (pool, &pool->kinds[k]);
  int r = grow_by (pool, k, want, z);

  /* Near the end of memory there may be enough for one. */
  return r == -ENOMEM && want > 1 ? grow_by (pool, k, 1, z) : r;
}

static bool
take_stock_locked (struct zs_pool *pool, unsigned k, struct zspage **z)
{
  desc_idx idx = pool->kinds[k].stock;

  if (idx == 0)
    return false;
  *z = zs_desc (pool, idx);
  stock_take_locked (pool, *z);
  return true;
}

/* Pages that are missing of what is to be populated ahead. */
static size_t
missing_locked (const struct zs_pool *pool, const struct zs_kind *kind)
{
  size_t stock = (size_t) kind->nr_stock * kind->pages;

  if (!kind->has_classes || stock >= pool->config.ahead_pages)
    return 0;
  return pool->config.ahead_pages - stock;
}

static void
call_hungry (struct zs_pool *pool)
{
  if (pool->config.hungry)
    pool->config.hungry (pool->config.hungry_opaque);
}

int
supply_get (struct zs_pool *pool, unsigned k, bool may_wait, struct zspage **z)
{
  bool taken, is_hungry = false;

  ranked_lock (&pool->chunk_lock);
  taken = take_stock_locked (pool, k, z);
  if (pool->config.ahead_pages)
    is_hungry =
      missing_locked (pool, &pool->kinds[k]) > pool->config.ahead_pages / 2;
  ranked_unlock (&pool->chunk_lock);
  if (is_hungry)
    call_hungry (pool);
  if (taken)
    return 0;
  return may_wait ? supply_grow (pool, k, z) : -EAGAIN;
}

struct zspage *
supply_get_reserve (struct zs_pool *pool)
{
  struct zspage *z = NULL;

  ranked_lock (&pool->chunk_lock);
  if (pool->reserve) {
    struct zs_chunk *chunk;

    z = zs_desc (pool, pool->reserve);
    pool->reserve = z->next;
    pool->reserve_pages--;
    chunk = &pool->chunks[z->page / ZSPAGE_CHUNK_PAGES];
    chunk->nr_kept--;
    chunk->nr_active++;
    z->state = ZSPAGE_BUSY;
  }
  ranked_unlock (&pool->chunk_lock);
  return z;
}

/* Keep z, a page of kind HUGE that this thread owns. */
static void
keep_locked (struct zs_pool *pool, struct zspage *z)
{
  struct zs_chunk *chunk = &pool->chunks[z->page / ZSPAGE_CHUNK_PAGES];

  chunk->nr_active--;
  chunk->nr_kept++;
  z->state = ZSPAGE_KEPT;
  z->in_use = 0;
  if (pool->bounce == 0)
    pool->bounce = zs_desc_idx (pool, z);
  else {
    z->next = pool->reserve;
    pool->reserve = zs_desc_idx (pool, z);
    pool->reserve_pages++;
  }
}

static bool
keep_wants_locked (const struct zs_pool *pool)
{
  return pool->bounce == 0 || pool->reserve_pages < pool->config.reserve_pages;
}

int
zs_reserve_fill (struct zs_pool *pool)
{
  struct zspage *z;
  bool wants, taken;
  int r;

  for (;;) {
    ranked_lock (&pool->chunk_lock);
    wants = keep_wants_locked (pool);
    ranked_unlock (&pool->chunk_lock);
    if (!wants)
      return 0;

    ranked_lock (&pool->chunk_lock);
    taken = take_stock_locked (pool, ZSPAGE_CHUNK_HUGE, &z);
    ranked_unlock (&pool->chunk_lock);
    r = taken ? 0 : supply_grow (pool, ZSPAGE_CHUNK_HUGE, &z);
    if (r < 0)
      return r;
    supply_put (pool, z);
  }
}

/* Grow a kind's stock to what is to be there. */
static int
kind_feed (struct zs_pool *pool, unsigned k)
{
  struct zs_kind *kind = &pool->kinds[k];
  struct zspage *z;
  size_t missing;
  int r;

  for (;;) {
    r = chunks_feed (pool);
    if (r < 0)
      return r;
    ranked_lock (&pool->chunk_lock);
    missing = missing_locked (pool, kind);
    ranked_unlock (&pool->chunk_lock);
    if (missing == 0)
      return 0;
    if (missing > FEED_BATCH)
      missing = FEED_BATCH;
    r = grow_by (pool, k, (missing + kind->pages - 1) / kind->pages, &z);
    if (r < 0)
      return r;
    ranked_lock (&pool->chunk_lock);
    stock_push_locked (pool, z);
    ranked_unlock (&pool->chunk_lock);
  }
}

int
zs_feed (struct zs_pool *pool)
{
  int r = zs_reserve_fill (pool);
  unsigned k;

  for (k = 1; r == 0 && k < ZSPAGE_CHUNK_KINDS; ++k)
    r = kind_feed (pool, k);
  return r;
}

int
zs_bounce (struct zs_pool *pool, zs_ref *ref)
{
  desc_idx idx;

  ranked_lock (&pool->chunk_lock);
  idx = pool->bounce;
  ranked_unlock (&pool->chunk_lock);
  if (idx == 0)
    return -ENOENT;
  *ref = zs_first_ref (zs_desc (pool, idx));
  return 0;
}

void
supply_put (struct zs_pool *pool, struct zspage *z)
{
  unsigned k;

  ranked_lock (&pool->chunk_lock);
  assert (z->state == ZSPAGE_BUSY);
  k = pool->chunks[z->page / ZSPAGE_CHUNK_PAGES].kind;
  if (k == ZSPAGE_CHUNK_HUGE && keep_wants_locked (pool))
    keep_locked (pool, z);
  else {
    stock_push_locked (pool, z);
    stock_bound_locked (pool);
  }
  ranked_unlock (&pool->chunk_lock);
}
