/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks and their zspages: beginning to use a chunk for a kind, the holes in it
 * where zspages have no memory, and stopping when nothing else is left.
 *
 *            populate                    class_add
 *     HOLE ------------> STOCK / BUSY ---------------> ACTIVE
 *       ^                  |    ^                         |
 *       +------------------+    +-------------------------+
 *            release                class_remove
 */
#include "zspool-internal.h"

#include <errno.h>
#include <sys/mman.h>

#include "fault-point.h"

/* Private memory is populated in steps of this many bytes. */
#define PRIVATE_STEP (64 * 1024u)
/* Chunks whose records and descriptors chunks_feed populates: more than can be
 * begun before it comes again.
 */
#define FEED_CHUNKS 16u

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

/* Copies of chunk_lock's figures are worked on, as others must not wait for
 * the kernel.  Whoever populates the same meanwhile does no harm.
 */
int
chunks_feed (struct zs_pool *pool)
{
  size_t chunks, records, descs, nr, units;
  int r = 0;

  ranked_lock (&pool->chunk_lock);
  chunks = pool->chunks_ready_bytes;
  records = pool->records_ready_bytes;
  descs = pool->descs_ready_bytes;
  nr = pool->next_chunk + FEED_CHUNKS;
  units = pool->descs_used + FEED_CHUNKS * pool->descs_most;
  ranked_unlock (&pool->chunk_lock);

  if (nr > pool->config.nr_chunks)
    nr = pool->config.nr_chunks;
  if (units > pool->descs_bytes / 8)
    units = pool->descs_bytes / 8;
  r = ensure_private (pool, pool->chunks, &chunks, nr * sizeof *pool->chunks,
                      ZSPAGE_PAGE_SIZE);
  if (r == 0)
    r = ensure_ready (pool, pool->config.records, &records,
                      nr * sizeof *pool->config.records, ZSPAGE_PAGE_SIZE);
  if (r == 0)
    r = ensure_private (pool, pool->descs, &descs, units * 8, PRIVATE_STEP);

  ranked_lock (&pool->chunk_lock);
  if (pool->chunks_ready_bytes < chunks)
    pool->chunks_ready_bytes = chunks;
  if (pool->records_ready_bytes < records)
    pool->records_ready_bytes = records;
  if (pool->descs_ready_bytes < descs)
    pool->descs_ready_bytes = descs;
  ranked_unlock (&pool->chunk_lock);
  return r;
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

/* Back, for another chunk of that kind. */
static void
descs_put_locked (struct zs_pool *pool, const struct zs_chunk *chunk)
{
  struct zs_kind *kind = &pool->kinds[chunk->kind];

  zs_desc (pool, chunk->descs)->next = kind->free_descs;
  kind->free_descs = chunk->descs;
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
  FAULT_POINT ("chunk: classes cleared");
  record->kind = k;
  FAULT_POINT ("chunk: started");
  return 0;
}

int
chunk_adopt (struct zs_pool *pool, uint32_t c, unsigned k)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  int r;

  /* Those that are passed over are free: all zero. */
  r = ensure_private (pool, pool->chunks, &pool->chunks_ready_bytes,
                      (c + 1) * sizeof *pool->chunks, ZSPAGE_PAGE_SIZE);
  if (r == 0)
    r = descs_get_locked (pool, &pool->kinds[k], c, &chunk->descs);
  if (r < 0)
    return r;
  pool->next_chunk = c + 1;
  chunk->kind = k;
  chunk->nr_holes = pool->kinds[k].nr_zspages;
  return 0;
}

/* Stop using a chunk, all of whose zspages are holes. */
static void
chunk_stop_locked (struct zs_pool *pool, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];

  holey_unlink_locked (pool, kind, c);
  descs_put_locked (pool, chunk);
  pool->config.records[c].kind = ZSPAGE_CHUNK_FREE;
  chunk->kind = ZSPAGE_CHUNK_FREE;
  chunk->next = pool->free_chunk;
  pool->free_chunk = c + 1;
}

/* The last chunk is not in use after all. */
static void
chunk_drop_last (struct zs_pool *pool, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];

  if (chunk->kind != ZSPAGE_CHUNK_FREE) {
    descs_put_locked (pool, chunk);
    pool->config.records[c].kind = ZSPAGE_CHUNK_FREE;
    chunk->kind = ZSPAGE_CHUNK_FREE;
    chunk->nr_holes = 0;
  }
  pool->next_chunk = c;
}

int
chunk_settle (struct zs_pool *pool, uint32_t c)
{
  struct zs_chunk *chunk = &pool->chunks[c];
  struct zs_kind *kind = &pool->kinds[chunk->kind];
  bool is_free =
    chunk->kind == ZSPAGE_CHUNK_FREE || chunk->nr_holes == kind->nr_zspages;
  int r;

  if (is_free && c + 1 == pool->next_chunk) {
    chunk_drop_last (pool, c);
    return 0;
  }
  r = ensure_ready (pool, pool->config.records, &pool->records_ready_bytes,
                    pool->next_chunk * sizeof *pool->config.records,
                    ZSPAGE_PAGE_SIZE);
  if (r < 0)
    return r;
  if (chunk->kind == ZSPAGE_CHUNK_FREE) {
    pool->config.records[c].kind = ZSPAGE_CHUNK_FREE;
    chunk->next = pool->free_chunk;
    pool->free_chunk = c + 1;
    return 0;
  }
  if (chunk->nr_holes > 0)
    holey_link_locked (pool, kind, c);
  if (is_free)
    chunk_stop_locked (pool, c);
  return 0;
}

int
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

void
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

int
zspages_release (struct zs_pool *pool, uint32_t page, size_t pages)
{
  return pool->config.os.release (pool->config.os.opaque,
                                  pool->config.data +
                                    (size_t) page * ZSPAGE_PAGE_SIZE,
                                  pages * ZSPAGE_PAGE_SIZE);
}

void
chunks_init (struct zs_pool *pool)
{
  size_t units;
  unsigned k, i;

  for (k = 1; k < ZSPAGE_CHUNK_KINDS; ++k) {
    struct zs_kind *kind = &pool->kinds[k];

    kind->pages = k == ZSPAGE_CHUNK_HUGE ? 1 : k;
    kind->div = 65536 / kind->pages + 1;
    kind->nr_zspages = ZSPAGE_CHUNK_PAGES / kind->pages;
    /* A record has 511 classes; the last page of such a chunk is not used. */
    if (kind->nr_zspages > sizeof pool->config.records[0].classes)
      kind->nr_zspages = sizeof pool->config.records[0].classes;
    kind->words = 0;
    for (i = 0; i < ZS_NR_SIZES; ++i) {
      const struct zs_size_class *c = &pool->sizes.of[i];

      if (c->merged == i && c->pages == k && c->objs > 1 &&
          BITMAP_WORDS (c->objs) > kind->words)
        kind->words = BITMAP_WORDS (c->objs);
    }
    if (k == ZSPAGE_CHUNK_HUGE || kind->words > 0) /* some class is of it */
      kind->nr_ahead =
        (pool->config.ahead_pages + kind->pages - 1) / kind->pages;
    units = zs_kind_stride (kind) * kind->nr_zspages;
    if (units > pool->descs_most)
      pool->descs_most = units;
  }
  ranked_lock_init (&pool->chunk_lock, RANK_CHUNK);
  /* Index 0 means none. */
  pool->descs_used = sizeof (struct zspage) / 8;
}
