/* SPDX-License-Identifier: BSD-3-Clause */
/* Where zspages come from and go to: chunks, stock and reserve.
 *
 * A fresh page costs a page fault, which is several times the price of
 * compressing a page, so zspages that become empty stay populated as stock and
 * are used again, and the kernel is asked, and given back to, in batches.
 *
 *            populate                    class_add
 *     HOLE ------------> STOCK / BUSY ---------------> ACTIVE
 *       ^                  |    ^                         |
 *       +------------------+    +-------------------------+
 *            release                class_remove
 *
 * Stock is bounded: above stock_high() pages, all above stock_low() goes back
 * to the kernel, first from chunks that nobody uses (one large piece), then
 * from those with most stock.  The gap between the two is the hysteresis.
 *
 * The reserve and the bounce page are single pages (kind HUGE) set aside
 * before they are needed.  A huge page can hold any object, so they help
 * whatever size is asked for when the kernel refuses memory.
 */
#include "zspool-internal.h"

#include <errno.h>
#include <sys/mman.h>

/* Private memory is populated in steps of this many bytes. */
#define PRIVATE_STEP (64 * 1024u)
/* The most pages populated ahead in one call. */
#define MAX_BATCH 64u

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

static void
stock_pages_add (struct zs_pool *pool, ptrdiff_t pages)
{
  atomic_fetch_add_explicit (&pool->stock_pages, (size_t) pages,
                             memory_order_relaxed);
}

/* Make [base, base + want) populated, given that [base, base + *ready) is. */
static int
ensure_ready (struct zs_pool *pool, void *base, size_t *ready, size_t want,
              size_t step)
{
  size_t target;
  int r;

  if (want <= *ready)
    return 0;
  target = zspage_align_up (want, step);
  r = pool->config.os.populate (pool->config.os.opaque,
                                (uint8_t *) base + *ready, target - *ready);
  if (r < 0)
    return r;
  *ready = target;
  return 0;
}

/* The same for private memory, which becomes writable as it is needed.  Touched
 * without this it would be killed for, not refused, when there is none.
 */
static int
ensure_private (struct zs_pool *pool, void *base, size_t *ready, size_t want,
                size_t step)
{
  size_t target = zspage_align_up (want, step);

  if (want > *ready && mprotect ((uint8_t *) base + *ready, target - *ready,
                                 PROT_READ | PROT_WRITE) == -1)
    return -ENOMEM;
  return ensure_ready (pool, base, ready, want, step);
}

/* The holey list: chunks of a kind that have a hole. */

static void
holey_link_locked (struct zs_pool *pool, struct zs_kind *kind, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];

  chunk->prev = 0;
  chunk->next = kind->holey;
  if (chunk->next)
    pool->chunks[chunk->next - 1].prev = c + 1;
  kind->holey = c + 1;
}

static void
holey_unlink_locked (struct zs_pool *pool, struct zs_kind *kind, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];

  if (chunk->next)
    pool->chunks[chunk->next - 1].prev = chunk->prev;
  if (chunk->prev)
    pool->chunks[chunk->prev - 1].next = chunk->next;
  else
    kind->holey = chunk->next;
}

/* Stock: a list a kind, the most recently used first. */

static void
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
  chunk->nr_active--;
  chunk->nr_stock++;
  stock_pages_add (pool, kind->pages);
}

/* Take z out of the stock; this thread owns it then. */
static void
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
  chunk->nr_stock--;
  chunk->nr_active++;
  stock_pages_add (pool, -(ptrdiff_t) kind->pages);
}

/* Descriptors for a chunk of this kind, all HOLE. */
static int
descs_get_locked (struct zs_pool *pool, struct zs_kind *kind, uint32_t c,
                  desc_idx *descs)
{
  size_t stride = zs_kind_stride (kind);
  size_t units = stride * kind->nr_zspages;
  unsigned i;
  int r;

  if (kind->free_descs) {
    *descs = kind->free_descs;
    kind->free_descs = zs_desc (pool, *descs)->next;
  }
  else {
    if (pool->descs_used + units > pool->descs_bytes / 8)
      return -ENOBUFS;
    r = ensure_private (pool, pool->descs, &pool->descs_ready_bytes,
                        (pool->descs_used + units) * 8, PRIVATE_STEP);
    if (r < 0)
      return r;
    *descs = pool->descs_used;
    pool->descs_used += units;
  }

  for (i = 0; i < kind->nr_zspages; ++i) {
    struct zspage *z = zs_desc (pool, *descs + i * stride);

    z->page = c * ZSPAGE_CHUNK_PAGES + i * kind->pages;
    z->state = ZSPAGE_HOLE;
    z->in_use = 0;
  }
  return 0;
}

/* Begin to use a chunk for a kind of zspages. */
static int
chunk_start_locked (struct zs_pool *pool, unsigned k)
{
  struct zs_kind *kind = &pool->kinds[k];
  struct zspage_chunk_record *record;
  struct zs_chunk *chunk;
  uint32_t c;
  int r;

  if (pool->free_chunk)
    c = pool->free_chunk - 1;
  else {
    c = pool->next_chunk;
    if (c == pool->config.nr_chunks)
      return -ENOBUFS;
    r = ensure_private (pool, pool->chunks, &pool->chunks_ready_bytes,
                        (c + 1) * sizeof *pool->chunks, ZSPAGE_PAGE_SIZE);
    if (r < 0)
      return r;
    r = ensure_ready (pool, pool->config.records, &pool->records_ready_bytes,
                      (c + 1) * sizeof *pool->config.records, ZSPAGE_PAGE_SIZE);
    if (r < 0)
      return r;
  }
  chunk = &pool->chunks[c];
  r = descs_get_locked (pool, kind, c, &chunk->descs);
  if (r < 0)
    return r;

  if (pool->free_chunk)
    pool->free_chunk = chunk->next;
  else
    pool->next_chunk++;
  chunk->kind = k;
  chunk->nr_active = chunk->nr_stock = chunk->nr_kept = 0;
  chunk->nr_holes = kind->nr_zspages;
  holey_link_locked (pool, kind, c);

  record = &pool->config.records[c];
  memset (record->classes, 0, sizeof record->classes);
  record->kind = k;
  return 0;
}

/* Stop using a chunk, all of whose zspages are holes. */
static void
chunk_stop_locked (struct zs_pool *pool, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];

  holey_unlink_locked (pool, kind, c);
  zs_desc (pool, chunk->descs)->next = kind->free_descs;
  kind->free_descs = chunk->descs;
  pool->config.records[c].kind = ZSPAGE_CHUNK_FREE;
  chunk->kind = ZSPAGE_CHUNK_FREE;
  chunk->next = pool->free_chunk;
  pool->free_chunk = c + 1;
}

/* How many zspages to populate together: little while the pool is small. */
static unsigned
batch_size (const struct zs_pool *pool, const struct zs_kind *kind)
{
  size_t used = atomic_load_explicit (&pool->pages_used, memory_order_relaxed);
  size_t pages = clamp (used / 1024, 1, MAX_BATCH);

  return pages < kind->pages ? 1 : pages / kind->pages;
}

/* Claim a run of adjacent holes in one chunk.  Returns its length, >= 1, and
 * its first zspage; they are BUSY and count as active.
 */
static int
holes_claim_locked (struct zs_pool *pool, unsigned k, unsigned want,
                    struct zspage **first)
{
  struct zs_kind *kind = &pool->kinds[k];
  size_t stride = zs_kind_stride (kind);
  struct zs_chunk *chunk;
  unsigned i, n;
  int r;

  if (kind->holey == 0) {
    r = chunk_start_locked (pool, k);
    if (r < 0)
      return r;
  }
  chunk = &pool->chunks[kind->holey - 1];

  for (i = 0; zs_desc (pool, chunk->descs + i * stride)->state != ZSPAGE_HOLE;
       ++i)
    assert (i < kind->nr_zspages);
  *first = zs_desc (pool, chunk->descs + i * stride);
  for (n = 0; n < want && i + n < kind->nr_zspages; ++n) {
    struct zspage *z = zs_desc (pool, chunk->descs + (i + n) * stride);

    if (z->state != ZSPAGE_HOLE)
      break;
    z->state = ZSPAGE_BUSY;
  }
  chunk->nr_holes -= n;
  chunk->nr_active += n;
  if (chunk->nr_holes == 0)
    holey_unlink_locked (pool, kind, kind->holey - 1);
  return n;
}

/* Make a run of BUSY zspages, which have no memory now, holes. */
static void
holes_return_locked (struct zs_pool *pool, uint32_t c, struct zspage *first,
                     unsigned n)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];
  size_t stride = zs_kind_stride (kind);
  unsigned i;

  for (i = 0; i < n; ++i)
    zs_desc (pool, zs_desc_idx (pool, first) + i * stride)->state = ZSPAGE_HOLE;
  if (chunk->nr_holes == 0)
    holey_link_locked (pool, kind, c);
  chunk->nr_holes += n;
  chunk->nr_active -= n;
  if (chunk->nr_holes == kind->nr_zspages)
    chunk_stop_locked (pool, c);
}

static int
data_release (struct zs_pool *pool, uint32_t page, size_t pages)
{
  return pool->config.os.release (pool->config.os.opaque,
                                  pool->config.data +
                                    (size_t) page * ZSPAGE_PAGE_SIZE,
                                  pages * ZSPAGE_PAGE_SIZE);
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
    data_release (pool, (*z)->page, (size_t) n * kind->pages);

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

int
supply_get (struct zs_pool *pool, unsigned k, struct zspage **z)
{
  desc_idx idx;

  ranked_lock (&pool->chunk_lock);
  idx = pool->kinds[k].stock;
  if (idx) {
    *z = zs_desc (pool, idx);
    stock_take_locked (pool, *z);
  }
  ranked_unlock (&pool->chunk_lock);
  return idx ? 0 : supply_grow (pool, k, z);
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
  bool wants;
  int r;

  for (;;) {
    ranked_lock (&pool->chunk_lock);
    wants = keep_wants_locked (pool);
    ranked_unlock (&pool->chunk_lock);
    if (!wants)
      return 0;

    r = supply_get (pool, ZSPAGE_CHUNK_HUGE, &z);
    if (r < 0)
      return r;
    supply_put (pool, z);
  }
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

/* Release runs of a chunk's stock.  Drops and retakes chunk_lock. */
static void
chunk_trim_locked (struct zs_pool *pool, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];
  size_t stride = zs_kind_stride (kind);
  unsigned i = 0, n, nr_zspages = kind->nr_zspages;
  desc_idx descs = chunk->descs;

  while (i < nr_zspages && chunk->nr_stock > 0) {
    struct zspage *first = zs_desc (pool, descs + i * stride);
    int r;

    for (n = 0; i + n < nr_zspages; ++n) {
      struct zspage *z = zs_desc (pool, descs + (i + n) * stride);

      if (z->state != ZSPAGE_STOCK)
        break;
      stock_take_locked (pool, z);
    }
    i += n + 1;
    if (n == 0)
      continue;

    /* The BUSY run keeps the chunk from being reused meanwhile. */
    ranked_unlock (&pool->chunk_lock);
    r = data_release (pool, first->page, (size_t) n * kind->pages);
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
                         const struct zs_chunk *chunk, int pass)
{
  unsigned nr_zspages = pool->kinds[chunk->kind].nr_zspages;

  if (chunk->kind == ZSPAGE_CHUNK_FREE || chunk->nr_stock == 0)
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

/* Give stock back until keep_pages are left; what is scattered over chunks in
 * use, only until keep_scattered are left, as it may grow together.
 */
static void
stock_trim_locked (struct zs_pool *pool, size_t keep_pages,
                   size_t keep_scattered)
{
  int pass;
  uint32_t c;

  if (pool->trimming)
    return;
  pool->trimming = true;
  for (pass = 0; pass < 4; ++pass) {
    for (c = 0; c < pool->next_chunk; ++c) {
      size_t stock =
        atomic_load_explicit (&pool->stock_pages, memory_order_relaxed);

      if (stock <= (pass < 3 ? keep_pages : keep_scattered))
        break;
      if (chunk_is_worth_trimming (pool, &pool->chunks[c], pass))
        chunk_trim_locked (pool, c);
    }
  }
  pool->trimming = false;
}

size_t
zs_excess_stock (const struct zs_pool *pool)
{
  size_t stock =
    atomic_load_explicit (&pool->stock_pages, memory_order_relaxed);
  size_t low = stock_low (pool);

  return stock > low ? stock - low : 0;
}

void
zs_trim_stock (struct zs_pool *pool, size_t keep_pages)
{
  ranked_lock (&pool->chunk_lock);
  stock_trim_locked (pool, keep_pages, keep_pages);
  ranked_unlock (&pool->chunk_lock);
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
    if (atomic_load_explicit (&pool->stock_pages, memory_order_relaxed) >
        stock_high (pool))
      stock_trim_locked (pool, stock_low (pool),
                         (stock_low (pool) + stock_high (pool)) / 2);
  }
  ranked_unlock (&pool->chunk_lock);
}

void
supply_init (struct zs_pool *pool)
{
  unsigned k, i;

  for (k = 1; k < ZSPAGE_CHUNK_KINDS; ++k) {
    struct zs_kind *kind = &pool->kinds[k];

    kind->pages = k == ZSPAGE_CHUNK_HUGE ? 1 : k;
    kind->div = 65536 / kind->pages + 1;
    kind->nr_zspages = ZSPAGE_CHUNK_PAGES / kind->pages;
    /* A record has 511 classes; the last page of such a chunk is not used. */
    if (k != ZSPAGE_CHUNK_HUGE &&
        kind->nr_zspages > sizeof pool->config.records[0].classes)
      kind->nr_zspages = sizeof pool->config.records[0].classes;
    kind->words = 0;
    for (i = 0; i < ZS_NR_SIZES; ++i) {
      const struct zs_size_class *c = &pool->sizes.of[i];

      if (c->merged == i && c->pages == k && c->objs > 1 &&
          BITMAP_WORDS (c->objs) > kind->words)
        kind->words = BITMAP_WORDS (c->objs);
    }
  }
  ranked_lock_init (&pool->chunk_lock, RANK_CHUNK);
  /* Index 0 means none. */
  pool->descs_used = sizeof (struct zspage) / 8;
}
