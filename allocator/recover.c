/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery of a pool; see zspool-recover.h.
 *
 * The records say which chunks are in use, for which kind, and the class of each
 * zspage.  Descriptors are made of that with all objects free; a claim takes the
 * object's bit away.  While it goes on, the states of zspages mean:
 *
 *   HOLE    no claim yet     ACTIVE  claimed     BUSY  huge, and claimed twice
 */
#include "zspool-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fault-point.h"
#include "zspool-recover.h"

#define CHUNK_WORDS (ZSPAGE_CHUNK_PAGES / 64)

/* Of a chunk. */
struct chunk_memory {
  uint64_t has[CHUNK_WORDS]; /* a bit for each page that has memory */
  _Atomic bool in_doubt;     /* an object was claimed twice */
};

struct zs_recovery {
  struct zs_pool *pool;
  size_t nr_freed;             /* pages */
  struct chunk_memory *chunks; /* [pool->next_chunk] */
  size_t bytes;                /* of them */
};

static bool
next_memory (const struct zs_pool *pool, const void *from, const void *end,
             void **start, size_t *len)
{
  return pool->config.os.next_memory (pool->config.os.opaque, from, end, start,
                                      len);
}

/* The class that a record names for a zspage, if it may be of this kind. */
static const struct zs_class *
class_of_record (const struct zs_pool *pool, uint32_t c, unsigned i)
{
  const struct zspage_chunk_record *record = &pool->config.records[c];
  unsigned n = record->classes[i];
  const struct zs_class *class;

  if (record->kind == ZSPAGE_CHUNK_HUGE)
    return &pool->classes[ZS_HUGE_INDEX];
  if (n == 0)
    return NULL;
  class = &pool->classes[n - 1];
  return class->size != 0 && !class->is_huge && class->kind == record->kind
           ? class
           : NULL;
}

static bool
kind_is_possible (const struct zs_pool *pool, unsigned k)
{
  return k == ZSPAGE_CHUNK_HUGE ||
         (k > 0 && k < ZSPAGE_CHUNK_HUGE && pool->kinds[k].words > 0);
}

/* All of a chunk's zspages without a claim. */
static void
chunk_clear (struct zs_pool *pool, uint32_t c)
{
  const struct zs_kind *kind = &pool->kinds[pool->chunks[c].kind];
  unsigned i, w;

  for (i = 0; i < kind->nr_zspages; ++i) {
    const struct zs_class *class = class_of_record (pool, c, i);
    struct zspage *z = zs_zspage_at (pool, c, i);

    z->state = ZSPAGE_HOLE;
    z->in_use = 0;
    z->class_index = class ? class->index : 0;
    for (w = 0; w < kind->words; ++w)
      zspage_set_all_free (z, w, class ? class->objs : 0);
  }
}

/* What the record says of a chunk.  Chunks come in order. */
static int
chunk_begin (struct zs_pool *pool, uint32_t c)
{
  unsigned k = pool->config.records[c].kind;
  int r;

  if (!kind_is_possible (pool, k))
    return 0;
  r = chunk_adopt (pool, c, k);
  if (r == 0)
    chunk_clear (pool, c);
  return r;
}

static int
records_read (struct zs_recovery *rec)
{
  struct zspage_chunk_record *records = rec->pool->config.records;
  struct zspage_chunk_record *end = records + rec->pool->config.nr_chunks;
  const void *from = records;
  void *start;
  size_t len;
  int r = 0;

  while (r == 0 && next_memory (rec->pool, from, end, &start, &len)) {
    uint32_t c = (struct zspage_chunk_record *) start - records;
    uint32_t last = c + len / sizeof *records;

    for (; r == 0 && c < last && c < rec->pool->config.nr_chunks; ++c)
      r = chunk_begin (rec->pool, c);
    from = (uint8_t *) start + len;
  }
  return r;
}

static int
release (struct zs_recovery *rec, size_t page, size_t pages)
{
  rec->nr_freed += pages;
  return zspages_release (rec->pool, page, pages);
}

/* Note which pages have memory; what is in no chunk goes. */
static void
data_look (struct zs_recovery *rec)
{
  uint8_t *data = rec->pool->config.data;
  size_t most = (size_t) rec->pool->next_chunk * ZSPAGE_CHUNK_PAGES;
  const uint8_t *from = data;
  const uint8_t *end =
    data + (size_t) rec->pool->config.nr_chunks * ZSPAGE_CHUNK_SIZE;
  void *start;
  size_t len, page, last;

  while (next_memory (rec->pool, from, end, &start, &len)) {
    page = ((uint8_t *) start - data) / ZSPAGE_PAGE_SIZE;
    last = page + len / ZSPAGE_PAGE_SIZE;
    for (; page < last && page < most; ++page)
      rec->chunks[page / ZSPAGE_CHUNK_PAGES]
        .has[page % ZSPAGE_CHUNK_PAGES / 64] |= UINT64_C (1) << page % 64;
    if (page < last)
      release (rec, page, last - page);
    from = (uint8_t *) start + len;
  }
}

void
zs_recover_abandon (struct zs_recovery *rec)
{
  if (rec->chunks)
    munmap (rec->chunks, rec->bytes);
  free (rec);
}

int
zs_recover_begin (struct zs_pool *pool, struct zs_recovery **out)
{
  struct zs_recovery *rec = calloc (1, sizeof *rec);
  int r;

  if (rec == NULL)
    return -ENOMEM;
  rec->pool = pool;
  r = records_read (rec);
  if (r == 0 && pool->next_chunk > 0) {
    rec->bytes = pool->next_chunk * sizeof *rec->chunks;
    rec->chunks = mmap (NULL, rec->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rec->chunks == MAP_FAILED) {
      rec->chunks = NULL;
      r = -ENOMEM;
    }
  }
  if (r < 0) {
    zs_recover_abandon (rec);
    return r;
  }
  data_look (rec);
  *out = rec;
  return 0;
}

static bool
has_memory (const struct zs_recovery *rec, size_t page)
{
  return rec->chunks[page / ZSPAGE_CHUNK_PAGES]
             .has[page % ZSPAGE_CHUNK_PAGES / 64] >>
           page % 64 &
         1;
}

/* Where an object is. */
struct place {
  struct zspage *z;
  const struct zs_class *class;
  uint32_t chunk;
  unsigned index; /* in its zspage */
};

/* Whether there can be an object. */
static bool
place_find (const struct zs_recovery *rec, zs_ref ref, size_t len,
            struct place *place)
{
  const struct zs_pool *pool = rec->pool;
  uint64_t page = ref / (ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN), last, offset;
  unsigned i;

  if (len == 0 || len > ZSPAGE_PAGE_SIZE ||
      !zs_find_zspage (pool, ref, &place->chunk, &i))
    return false;
  place->class = class_of_record (pool, place->chunk, i);
  if (place->class == NULL)
    return false;
  place->z = zs_zspage_at (pool, place->chunk, i);
  offset = (ref - zs_first_ref (place->z)) * ZSPAGE_OBJECT_ALIGN;
  place->index = offset / place->class->size;
  if (offset % place->class->size != 0 || place->index >= place->class->objs)
    return false;
  if (!place->class->is_huge)
    len += ZSPAGE_OBJECT_HEADER;
  if (len > place->class->size)
    return false;
  last = (ref * ZSPAGE_OBJECT_ALIGN + len - 1) / ZSPAGE_PAGE_SIZE;
  for (; page <= last; ++page)
    if (!has_memory (rec, page))
      return false;
  return true;
}

/* Take the object for the owner; if it is taken, the chunk is in doubt. */
static void
place_take (struct zs_recovery *rec, const struct place *place, uint32_t owner)
{
  _Atomic bool *in_doubt = &rec->chunks[place->chunk].in_doubt;
  uint64_t bit = UINT64_C (1) << place->index % 64;
  uint8_t unclaimed = ZSPAGE_HOLE;

  if (place->class->is_huge) {
    if (atomic_compare_exchange_strong (&place->z->state, &unclaimed,
                                        ZSPAGE_ACTIVE))
      place->z->huge_owner = owner;
    else {
      place->z->state = ZSPAGE_BUSY;
      *in_doubt = true;
    }
    return;
  }
  if ((atomic_fetch_and_explicit (&place->z->free[place->index / 64], ~bit,
                                  memory_order_relaxed) &
       bit) == 0)
    *in_doubt = true;
}

bool
zs_recover_is_possible (const struct zs_recovery *rec, zs_ref ref, size_t len)
{
  struct place place;

  return place_find (rec, ref, len, &place);
}

int
zs_recover_claim (struct zs_recovery *rec, zs_ref ref, size_t len,
                  uint32_t owner)
{
  struct place place;

  if (!place_find (rec, ref, len, &place))
    return -EUCLEAN;
  place_take (rec, &place, owner);
  return 0;
}

/* Of huge pages it is known which are claimed twice; none of these claims can be
 * told from the other.  Their memory goes at once, so that if the second of two
 * slots is not given up before a kill, the next recovery does not believe it.
 */
static void
huge_give_up (struct zs_recovery *rec, uint32_t c)
{
  const struct zs_kind *kind = &rec->pool->kinds[ZSPAGE_CHUNK_HUGE];
  unsigned i;

  for (i = 0; i < kind->nr_zspages; ++i) {
    const struct zspage *z = zs_zspage_at (rec->pool, c, i);

    if (z->state != ZSPAGE_BUSY)
      continue;
    release (rec, z->page, 1);
    rec->chunks[c].has[i / 64] &= ~(UINT64_C (1) << i % 64);
  }
}

bool
zs_recover_again (struct zs_recovery *rec)
{
  struct zs_pool *pool = rec->pool;
  bool any = false;
  uint32_t c;

  for (c = 0; c < pool->next_chunk; ++c) {
    if (!rec->chunks[c].in_doubt)
      continue;
    any = true;
    if (pool->chunks[c].kind != ZSPAGE_CHUNK_HUGE)
      chunk_clear (pool, c);
    else
      huge_give_up (rec, c);
  }
  return any;
}

int
zs_recover_claim_again (struct zs_recovery *rec, zs_ref ref, size_t len,
                        uint32_t owner)
{
  struct place place;
  uint32_t header;

  if (!place_find (rec, ref, len, &place))
    return -EUCLEAN;
  if (!rec->chunks[place.chunk].in_doubt)
    return 0;
  if (place.class->is_huge)
    return place.z->state == ZSPAGE_BUSY ? -EUCLEAN : 0;
  memcpy (&header, zs_address (rec->pool, ref), sizeof header);
  if (header != owner)
    return -EUCLEAN;
  place_take (rec, &place, owner);
  return 0;
}

/* Count a zspage that has claims, and see to it that all of it has memory. */
static int
zspage_adopt (struct zs_recovery *rec, struct zspage *z, unsigned in_use)
{
  struct zs_pool *pool = rec->pool;
  struct zs_class *class = &pool->classes[z->class_index];
  bool whole = true;
  unsigned i;

  for (i = 0; i < class->pages; ++i)
    whole &= has_memory (rec, z->page + i);
  if (!whole && pool->config.os.populate (
                  pool->config.os.opaque,
                  pool->config.data + (size_t) z->page * ZSPAGE_PAGE_SIZE,
                  (size_t) class->pages * ZSPAGE_PAGE_SIZE) < 0)
    return -ENOMEM;
  z->state = ZSPAGE_ACTIVE;
  z->in_use = in_use;
  class->nr_zspages++;
  class->obj_used += in_use;
  class_link_locked (pool, class, z);
  zs_charge_always (pool, class->pages);
  return 0;
}

static int
zspages_adopt (struct zs_recovery *rec, uint32_t c)
{
  struct zs_pool *pool = rec->pool;
  struct zs_chunk *chunk = &pool->chunks[c];
  const struct zs_kind *kind = &pool->kinds[chunk->kind];
  unsigned i, w, in_use;
  int r;

  for (i = 0; i < kind->nr_zspages; ++i) {
    struct zspage *z = zs_zspage_at (pool, c, i);

    if (chunk->kind == ZSPAGE_CHUNK_HUGE)
      in_use = z->state == ZSPAGE_ACTIVE;
    else {
      in_use = pool->classes[z->class_index].objs;
      for (w = 0; w < kind->words; ++w)
        in_use -= __builtin_popcountll (zspage_free_bits (z, w));
      if (class_of_record (pool, c, i) == NULL)
        in_use = 0;
    }
    z->state = ZSPAGE_HOLE;
    if (in_use == 0)
      continue;
    r = zspage_adopt (rec, z, in_use);
    if (r < 0)
      return r;
    chunk->nr_holes--;
    chunk->nr_active++;
  }
  return 0;
}

/* Give back what has memory and no claim. */
static int
chunk_release (struct zs_recovery *rec, uint32_t c)
{
  const struct zs_chunk *chunk = &rec->pool->chunks[c];
  const struct zs_kind *kind = &rec->pool->kinds[chunk->kind];
  size_t first = (size_t) c * ZSPAGE_CHUNK_PAGES;
  unsigned p, n, i;

  for (p = 0; p < ZSPAGE_CHUNK_PAGES; p += n + 1) {
    for (n = 0; p + n < ZSPAGE_CHUNK_PAGES; ++n) {
      if (!has_memory (rec, first + p + n))
        break;
      i = chunk->kind == ZSPAGE_CHUNK_FREE ? 0 : (p + n) / kind->pages;
      if (chunk->kind != ZSPAGE_CHUNK_FREE && i < kind->nr_zspages &&
          zs_zspage_at (rec->pool, c, i)->state == ZSPAGE_ACTIVE)
        break;
    }
    if (n > 0 && release (rec, first + p, n) < 0)
      return -ENOMEM;
  }
  return 0;
}

/* Give back the memory of records beyond those that the pool knows of. */
static void
records_release (struct zs_recovery *rec)
{
  struct zs_pool *pool = rec->pool;
  const uint8_t *records = (const uint8_t *) pool->config.records;
  const uint8_t *from = records + pool->records_ready_bytes;
  const void *end = pool->config.records + pool->config.nr_chunks;
  void *start;
  size_t len;

  while (next_memory (rec->pool, from, end, &start, &len)) {
    pool->config.os.release (pool->config.os.opaque, start, len);
    from = (const uint8_t *) start + len;
  }
}

static void
freeable_count (struct zs_pool *pool)
{
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i) {
    struct zs_class *class = &pool->classes[i];
    size_t unused;

    if (class->size == 0)
      continue;
    unused = class->nr_zspages * class->objs - class->obj_used;
    class->freeable = unused / class->objs;
    class->rest = unused % class->objs;
    pool->freeable_pages += (size_t) class->freeable * class->pages;
  }
}

int
zs_recover_end (struct zs_recovery *rec, size_t *nr_freed)
{
  struct zs_pool *pool = rec->pool;
  uint32_t c;
  int r = 0;

  /* The last first, so that the first are used first. */
  for (c = pool->next_chunk; r == 0 && c > 0; --c) {
    if (pool->chunks[c - 1].kind != ZSPAGE_CHUNK_FREE)
      r = zspages_adopt (rec, c - 1);
    if (r == 0)
      r = chunk_release (rec, c - 1);
    FAULT_POINT ("recover: chunk");
    if (r == 0)
      r = chunk_settle (pool, c - 1);
  }
  if (r == 0)
    records_release (rec);
  freeable_count (pool);
  *nr_freed = rec->nr_freed;
  zs_recover_abandon (rec);
  return r;
}
