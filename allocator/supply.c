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
#include <time.h>

/* The most pages populated in one call; others have them before the next. */
#define MAX_BATCH 64u

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

/* Zspages that a kind lacks of what zs_feed keeps. */
static unsigned
missing_locked (const struct zs_kind *kind)
{
  return kind->nr_stock < kind->nr_ahead ? kind->nr_ahead - kind->nr_stock : 0;
}

static uint64_t
now_ms (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000 + 1; /* never 0 */
}

static void
become_hungry (struct zs_pool *pool)
{
  uint64_t never = 0;

  if (atomic_load_explicit (&pool->hungry_since, memory_order_relaxed) == 0)
    atomic_compare_exchange_strong (&pool->hungry_since, &never, now_ms ());
  if (pool->config.hungry)
    pool->config.hungry (pool->config.hungry_opaque);
}

bool
supply_is_stuck (const struct zs_pool *pool)
{
  uint64_t since =
    atomic_load_explicit (&pool->hungry_since, memory_order_relaxed);

  return since != 0 && now_ms () - since > pool->config.patience_ms;
}

int
supply_get (struct zs_pool *pool, unsigned k, bool may_wait, struct zspage **z)
{
  const struct zs_kind *kind = &pool->kinds[k];
  bool taken, is_hungry;

  ranked_lock (&pool->chunk_lock);
  taken = take_stock_locked (pool, k, z);
  is_hungry = missing_locked (kind) > kind->nr_ahead / 4;
  ranked_unlock (&pool->chunk_lock);
  if (is_hungry)
    become_hungry (pool);
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
    taken = wants && take_stock_locked (pool, ZSPAGE_CHUNK_HUGE, &z);
    ranked_unlock (&pool->chunk_lock);
    if (!wants)
      return 0;
    r = taken ? 0 : supply_grow (pool, ZSPAGE_CHUNK_HUGE, &z);
    if (r < 0)
      return r;
    supply_put (pool, z);
  }
}

/* The kind that lacks the largest part of what it should have, of those not in
 * a set; 0 if none lacks anything.
 */
static unsigned
hungriest_locked (const struct zs_pool *pool, uint32_t except)
{
  unsigned k, found = 0;

  for (k = 1; k < ZSPAGE_CHUNK_KINDS; ++k) {
    const struct zs_kind *kind = &pool->kinds[k], *best = &pool->kinds[found];

    if (missing_locked (kind) == 0 || (except >> k & 1))
      continue;
    if (found == 0 || (uint64_t) kind->nr_stock * best->nr_ahead <
                        (uint64_t) best->nr_stock * kind->nr_ahead)
      found = k;
  }
  return found;
}

static int
kind_feed (struct zs_pool *pool, unsigned k)
{
  const struct zs_kind *kind = &pool->kinds[k];
  struct zspage *z;
  unsigned want;
  int r = chunks_feed (pool);

  if (r < 0)
    return r;
  ranked_lock (&pool->chunk_lock);
  want = missing_locked (kind);
  ranked_unlock (&pool->chunk_lock);
  if (want > MAX_BATCH / kind->pages)
    want = MAX_BATCH / kind->pages;
  if (want == 0)
    return 0; /* it came back meanwhile */
  r = grow_by (pool, k, want, &z);
  if (r < 0)
    return r;
  ranked_lock (&pool->chunk_lock);
  stock_push_locked (pool, z);
  ranked_unlock (&pool->chunk_lock);
  return 0;
}

int
zs_feed (struct zs_pool *pool, bool *more)
{
  uint32_t full = 0; /* kinds for which there are no chunks */
  unsigned k;
  bool wants_reserve;
  int r;

  *more = false;
  for (;;) {
    ranked_lock (&pool->chunk_lock);
    k = hungriest_locked (pool, full);
    wants_reserve = keep_wants_locked (pool);
    ranked_unlock (&pool->chunk_lock);
    if (k == 0)
      break;
    r = kind_feed (pool, k);
    if (r == 0)
      *more = true;
    if (r != -ENOBUFS) {
      if (r == 0)
        atomic_store (&pool->hungry_since, now_ms ());
      return r;
    }
    full |= 1u << k;
  }
  atomic_store (&pool->hungry_since, 0);
  if (!wants_reserve)
    return 0;
  r = zs_reserve_fill (pool);
  *more = r == 0;
  return r == -ENOBUFS ? 0 : r;
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
