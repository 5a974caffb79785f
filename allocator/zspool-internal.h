/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool's structures.  Everything here is private memory of the process and
 * can be rebuilt from the slot table and the chunk records.
 *
 *   pool ─┬─ classes[255] ── by_in_use[n]: list of zspages with n objects
 *         ├─ kinds[18] ───── stock list, chunks with holes
 *         └─ chunks[] ────── descs: one struct zspage for each zspage
 *
 * Invariants (zs_validate proves them; "class" = not merged, C = chunk):
 *   class:  sum over n of counts[n]            == nr_zspages
 *           sum over n of n * counts[n]        == obj_used
 *           nr_zspages * objs - obj_used       == freeable * objs + rest
 *   zspage: in_use == objs - popcount (free)      (huge: in_use == 1)
 *           0 < in_use;  linked in by_in_use[in_use] unless full
 *   C:      nr_active + nr_stock + nr_holes + nr_kept == zspages of its kind
 *   pool:   pages_used == sum over classes of nr_zspages * pages
 *           freeable_pages == sum over classes of freeable * pages
 *           stock_pages == sum over stock of pages
 *           spare_pages == the same of what is beyond each kind's nr_ahead
 *
 * Locks (ranks in ranked-lock.h): class.lock, then pool.chunk_lock.  No two
 * class locks are held at once except by zs_validate and zs_for_each_object,
 * which take them by ascending index.
 */
#ifndef ZSPOOL_INTERNAL_H
#define ZSPOOL_INTERNAL_H

#include <config.h>

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "ranked-lock.h"
#include "zspool.h"

#define BITMAP_WORDS(n) (((n) + 63) / 64)

/* Descriptors are named by their index in pool.descs, in units of 8 bytes;
 * 0 is none.
 */
typedef uint32_t desc_idx;

enum zspage_state {
  ZSPAGE_HOLE,   /* has no memory; under chunk_lock */
  ZSPAGE_STOCK,  /* has memory, on its kind's stock list; under chunk_lock */
  ZSPAGE_KEPT,   /* reserve or bounce; under chunk_lock */
  ZSPAGE_BUSY,   /* being populated or released by some thread, which owns it */
  ZSPAGE_ACTIVE, /* belongs to a class; under that class's lock */
};

/* A zspage's descriptor: 16 bytes, and a bit for each object it can have. */
struct zspage {
  desc_idx prev; /* in by_in_use (class.lock), or stock (chunk_lock) */
  union {
    desc_idx next;       /* likewise */
    uint32_t huge_owner; /* of the object of a huge zspage, while ACTIVE */
  };
  uint32_t page;       /* index of its first page in the data */
  uint16_t in_use;     /* objects; class.lock */
  uint8_t class_index; /* constant while ACTIVE */
  /* enum zspage_state.  Whether it is ACTIVE changes under the class's lock,
   * all else under chunk_lock; either looks at it, so it is atomic.
   */
  _Atomic uint8_t state;
  /* 1 = free; none for huge.  Changed under class.lock; whether the object of
   * somebody who keeps it from moving is free is looked at without.
   */
  _Atomic uint64_t free[];
};
static_assert (sizeof (struct zspage) == 16, "descriptors are counted");

struct zs_class {
  struct ranked_lock lock; /* guards the lists, counts and zspages below */

  /* Constant. */
  uint16_t size, objs;
  uint8_t index, pages, kind;
  bool is_huge;
  uint32_t div; /* object index = (offset / 16 * div) >> 24 */

  size_t nr_zspages, obj_used;
  uint32_t rest;     /* free objects beyond whole zspages, < objs */
  uint32_t freeable; /* zspages */
  uint64_t nonempty[BITMAP_WORDS (ZS_MAX_OBJS + 1)]; /* of by_in_use */
  /* Lists of zspages by their number of objects: heads, [0..objs-1]. */
  desc_idx *by_in_use;
  uint32_t *counts; /* zspages with n objects, [0..objs] */
} __attribute__ ((aligned (ZSPAGE_CACHE_LINE)));

/* A kind of chunk: enum zspage_chunk_kind. */
struct zs_kind {
  /* Constant. */
  uint32_t div;        /* zspage in chunk = (page in chunk * div) >> 16 */
  uint16_t nr_zspages; /* a chunk */
  uint16_t words;      /* of zspage.free */
  uint8_t pages;       /* a zspage */
  uint32_t nr_ahead;   /* zspages of stock that zs_feed keeps */

  /* chunk_lock */
  desc_idx stock;      /* list head */
  uint32_t nr_stock;   /* in it */
  uint32_t holey;      /* list of chunks with holes: index + 1, or 0 */
  desc_idx free_descs; /* blocks of a chunk's descriptors, linked by next */
};

struct zs_chunk {
  desc_idx descs; /* of its first zspage; constant while in use */
  uint8_t kind;   /* constant while in use */
  /* chunk_lock */
  uint16_t nr_active; /* and busy */
  uint16_t nr_stock, nr_kept, nr_holes;
  uint32_t prev, next; /* holey list, or the list of free chunks */
};

struct zs_pool {
  struct zs_config config;
  struct zs_size_classes sizes;
  struct zs_class classes[ZS_NR_SIZES];
  struct zs_kind kinds[ZSPAGE_CHUNK_KINDS];
  void *lists; /* memory of all by_in_use and counts */

  struct zs_chunk *chunks; /* [nr_chunks], populated up to chunks_ready */
  uint64_t *descs;         /* populated up to descs_ready */
  size_t chunks_bytes, descs_bytes; /* address space */

  size_t descs_most; /* of a chunk, in units of 8 bytes; constant */
  /* Chunks from here on were never used, and have no memory here.  Changed under
   * chunk_lock; read without, for references from outside.
   */
  _Atomic uint32_t next_chunk;
  _Atomic size_t pages_limit, pages_kept; /* kept: at most */
  _Atomic size_t pages_compacted;

  /* What follows is on other cache lines than what each request reads. */

  /* Guards chunks, stock, reserve, and all below up to the atomics.  It is
   * held while the records and descriptors of a new chunk are populated, once
   * in 2 MiB (unless zs_feed did that); never while data is.
   */
  struct ranked_lock chunk_lock __attribute__ ((aligned (ZSPAGE_CACHE_LINE)));
  size_t chunks_ready_bytes, records_ready_bytes, descs_ready_bytes;
  size_t descs_used;             /* bump allocation, in units of 8 bytes */
  uint32_t free_chunk;           /* list of free chunks: index + 1, or 0 */
  bool trimming;                 /* one thread gives stock back */
  desc_idx reserve;              /* list of kept pages */
  _Atomic size_t reserve_pages;  /* read without the lock too */
  desc_idx bounce;               /* a kept page, not in the list */
  _Atomic bool reserve_was_used; /* since it was first filled */

  /* Written by whoever changes the figure, read without locks. */
  _Atomic size_t pages_used; /* charge and uncharge in zspool.c */
  _Atomic size_t pages_used_max;
  _Atomic size_t objects_moved;
  _Atomic size_t freeable_pages; /* changed under each class's lock */
  _Atomic size_t stock_pages;    /* changed under chunk_lock */
  _Atomic size_t spare_pages;    /* of these, beyond what zs_feed keeps */
  /* When a kind began to run low, or zs_feed last got on; ms of
   * CLOCK_MONOTONIC, 0: nothing is missing.
   */
  _Atomic uint64_t hungry_since;
};

static inline struct zspage *
zs_desc (const struct zs_pool *pool, desc_idx idx)
{
  return (struct zspage *) (pool->descs + idx);
}

static inline desc_idx
zs_desc_idx (const struct zs_pool *pool, const struct zspage *z)
{
  return (const uint64_t *) z - pool->descs;
}

/* Units of 8 bytes from one descriptor of this kind to the next. */
static inline size_t
zs_kind_stride (const struct zs_kind *kind)
{
  return sizeof (struct zspage) / 8 + kind->words;
}

/* The descriptor of the zspage that a reference points into. */
static inline struct zspage *
zs_zspage_of (const struct zs_pool *pool, zs_ref ref)
{
  size_t page = ref / (ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN);
  const struct zs_chunk *chunk = &pool->chunks[page / ZSPAGE_CHUNK_PAGES];
  const struct zs_kind *kind = &pool->kinds[chunk->kind];
  size_t z = (page % ZSPAGE_CHUNK_PAGES * kind->div) >> 16;

  return zs_desc (pool, chunk->descs + z * zs_kind_stride (kind));
}

/* That of a zspage of a chunk in use. */
static inline struct zspage *
zs_zspage_at (const struct zs_pool *pool, uint32_t c, unsigned index)
{
  const struct zs_chunk *chunk = &pool->chunks[c];

  return zs_desc (pool, chunk->descs +
                          index * zs_kind_stride (&pool->kinds[chunk->kind]));
}

static inline zs_ref
zs_first_ref (const struct zspage *z)
{
  return (zs_ref) z->page * (ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN);
}

static inline uint64_t
zspage_free_bits (const struct zspage *z, unsigned word)
{
  return atomic_load_explicit (&z->free[word], memory_order_relaxed);
}

static inline bool
zspage_object_is_free (const struct zspage *z, unsigned index)
{
  return zspage_free_bits (z, index / 64) >> index % 64 & 1;
}

static inline uint8_t *
zs_address (const struct zs_pool *pool, zs_ref ref)
{
  return pool->config.data + ref * ZSPAGE_OBJECT_ALIGN;
}

/* zspage.c: objects in zspages, zspages in classes.  The class is locked. */

/* Set the free bits of a word of a zspage for so many objects. */
void zspage_set_all_free (struct zspage *z, unsigned word, unsigned objs);
/* Take a free object of z, which is ACTIVE, not full and linked. */
zs_ref zspage_take_locked (struct zs_pool *pool, struct zs_class *class,
                           struct zspage *z);
/* Give an object of z back. */
void zspage_give_locked (struct zs_pool *pool, struct zs_class *class,
                         struct zspage *z, zs_ref ref);
/* Make z, owned by this thread and empty, a zspage of the class. */
void class_add_locked (struct zs_pool *pool, struct zs_class *class,
                       struct zspage *z);
/* Take z, which is empty, out of its class; this thread owns it then. */
void class_remove_locked (struct zs_pool *pool, struct zs_class *class,
                          struct zspage *z);
/* Link z into, or out of, the list of its in_use. */
void class_link_locked (struct zs_pool *pool, struct zs_class *class,
                        struct zspage *z);
void class_unlink_locked (struct zs_pool *pool, struct zs_class *class,
                          struct zspage *z);
/* The fullest zspage that has room, or the one with fewest objects.  NULL if
 * all are full.
 */
struct zspage *class_fullest_locked (struct zs_pool *pool,
                                     struct zs_class *class);
struct zspage *class_emptiest_locked (struct zs_pool *pool,
                                      struct zs_class *class);
/* Index in its zspage of the object that ref points to or into. */
unsigned zspage_object_index (const struct zs_class *class,
                              const struct zspage *z, zs_ref ref);

/* object.c: the chunk, which is in use, and the zspage in it that a reference from
 * outside points into; false if there are none.
 */
bool zs_find_zspage (const struct zs_pool *pool, zs_ref ref, uint32_t *chunk,
                     unsigned *index);

/* chunk.c */

void chunks_init (struct zs_pool *pool);
/* Claim a run of adjacent holes in one chunk.  Returns its length, >= 1, and
 * its first zspage; they are BUSY and count as active.
 */
int holes_claim_locked (struct zs_pool *pool, unsigned kind, unsigned want,
                        struct zspage **first);
/* Make a run of BUSY zspages, which have no memory now, holes. */
void holes_return_locked (struct zs_pool *pool, uint32_t chunk,
                          struct zspage *first, unsigned n);
/* Recovery: chunk c, which comes after all that are in use, is of this kind, and
 * all holes.  -ENOMEM, -ENOBUFS.
 */
int chunk_adopt (struct zs_pool *pool, uint32_t c, unsigned kind);
/* Recovery: put a chunk whose zspages are all HOLE or ACTIVE where it belongs:
 * with holes, or free; the last chunk first, and so on.  -ENOMEM.
 */
int chunk_settle (struct zs_pool *pool, uint32_t c);
/* Populate the records and descriptors of the next chunks, so that claiming
 * holes does not.  Not with chunk_lock held.
 */
int chunks_feed (struct zs_pool *pool);
/* Take the memory of pages, which are in BUSY zspages, back. */
int zspages_release (struct zs_pool *pool, uint32_t page, size_t pages);

/* stock.c: a list a kind, the most recently used first.  chunk_lock is held. */

/* Put z, which this thread owns, into the stock. */
void stock_push_locked (struct zs_pool *pool, struct zspage *z);
/* Take z out of the stock; this thread owns it then. */
void stock_take_locked (struct zs_pool *pool, struct zspage *z);
/* Give some back to the kernel, if there is too much of it.  May drop and
 * retake chunk_lock.
 */
void stock_bound_locked (struct zs_pool *pool);

/* supply.c: where zspages come from and go to.  Takes chunk_lock; may block. */

/* A populated zspage of a kind, owned by the caller, all objects free.
 * -ENOMEM: the kernel refused.  -ENOBUFS: no chunk is left for this kind.
 * -EAGAIN: there is no stock, and this may not wait for the kernel.
 */
int supply_get (struct zs_pool *pool, unsigned kind, bool may_wait,
                struct zspage **z);
/* Whether zs_feed gets nowhere: some kind lacks stock, and did for some time. */
bool supply_is_stuck (const struct zs_pool *pool);
/* A page of the reserve, as supply_get (ZSPAGE_CHUNK_HUGE).  NULL if none. */
struct zspage *supply_get_reserve (struct zs_pool *pool);
/* Return a zspage that the caller owns. */
void supply_put (struct zs_pool *pool, struct zspage *z);

/* zspool.c */

/* Count pages as used, unless that would leave less than kept pages, or a 16th,
 * of the pool's limit: -ENOSPC, or of the budget's: -EDQUOT.
 */
int zs_charge (struct zs_pool *pool, size_t pages, size_t kept);
/* Count pages as used, whatever the limits. */
void zs_charge_always (struct zs_pool *pool, size_t pages);
/* Before freeable_pages falls for the same zspage, so that whoever sees nothing
 * freeable, and tries again, sees what compaction freed.
 */
void zs_uncharge (struct zs_pool *pool, size_t pages);

/* Lock every class, then the chunks; and back. */
void zs_lock_all (struct zs_pool *pool);
void zs_unlock_all (struct zs_pool *pool);

#endif /* ZSPOOL_INTERNAL_H */
