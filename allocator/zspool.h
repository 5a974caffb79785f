/* SPDX-License-Identifier: BSD-3-Clause */
/* zspool: a zsmalloc-style allocator of objects of at most a page, in memory
 * that the caller has reserved and that this library populates and gives back.
 *
 * Glossary (zsmalloc's terms):
 *   page      4096 bytes.
 *   zspage    1..16 contiguous pages cut into objects of one size class.
 *   class     the objects of one size; see size-class.h.
 *   huge      an object alone in its page, without the 4-byte owner header.
 *   chunk     2 MiB of the data, cut into zspages of one chain length.
 *   stock     populated zspages that nobody uses, kept to be used again.
 *   reserve   single pages kept for when the kernel refuses memory.
 *   ahead     stock that another thread populates before it is needed.
 *   bounce    one page kept for overwriting an object where it lies.
 *   freeable  what compaction could give back: for a class, the free objects
 *             / objects per zspage, in whole zspages.
 *
 * An object has a 32-bit owner, which the caller chooses; compaction asks the
 * caller to repoint it.  Objects therefore move, but only while the caller
 * agrees (see relocate).
 *
 * Functions return 0 or a negative errno unless they say otherwise.  All may
 * be called from any thread, except create and destroy.
 */
#ifndef ZSPOOL_H
#define ZSPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "size-class.h"
#include "zspage-format.h"

/* Where an object is: its offset in the data / 16.  Opaque to callers, who
 * may store it (40 significant bits) and compare it.
 */
typedef uint64_t zs_ref;

/* What the pool asks of the operating system.  Both take whole pages, may
 * block, and are called from the thread that called into the pool.
 */
struct zs_os {
  void *opaque;
  /* Give memory to [addr, addr+len) so that touching it cannot fail.
   * Returns 0 or -ENOMEM; on error part of the range may have memory.
   */
  int (*populate) (void *opaque, void *addr, size_t len);
  /* Take the memory of [addr, addr+len) back.  Returns 0 or -errno; on error
   * the memory stays and the content is undefined.
   */
  int (*release) (void *opaque, void *addr, size_t len);
  /* For recovery only: the first run of whole pages in [from, end) that have
   * memory, to [*start, *start + *len); false: there is none.
   */
  bool (*next_memory) (void *opaque, const void *from, const void *end,
                       void **start, size_t *len);
};

/* Memory that several pools share a limit of; all zero is no limit.  Belongs
 * to the caller, who may change limit at any time.
 */
struct zs_budget {
  _Atomic size_t limit; /* pages; 0 = none */
  _Atomic size_t used;  /* pages in zspages of all the pools */
};

struct zs_config {
  unsigned chain_size;                 /* pages, ZS_MIN_CHAIN..ZS_MAX_CHAIN */
  uint32_t nr_chunks;                  /* of data and of records, at least 1 */
  struct zspage_chunk_record *records; /* all zero when created */
  uint8_t *data;        /* page aligned, nr_chunks * ZSPAGE_CHUNK_SIZE bytes */
  size_t reserve_pages; /* see zs_reserve_fill */
  struct zs_budget *budget; /* NULL = none; borrowed */
  struct zs_os os;

  /* Pages of stock that zs_feed keeps for each chain length, for callers that
   * must not wait for the kernel; 0 = none.  hungry is called when it is time
   * for zs_feed, with none of the pool's locks held but maybe the caller's; it
   * must not block.
   */
  size_t ahead_pages;
  /* If zs_feed got nowhere for longer than this, memory is wasted rather
   * than the kernel asked.
   */
  unsigned patience_ms;
  void (*hungry) (void *opaque);
  void *hungry_opaque;

  /* Compaction wants to move the object of owner.  Called with the class
   * locked, so it must not call into the pool, nor wait for a lock.  If the
   * owner's reference is still `from` and nobody is using the object: copy
   * len bytes from src to dst, make the owner refer to `to`, and return 0.
   * Else change nothing and return -EBUSY.
   */
  int (*relocate) (void *opaque, uint32_t owner, zs_ref from, zs_ref to,
                   const void *src, void *dst, size_t len);
  void *relocate_opaque;
};

struct zs_pool;

/* Create a pool.  *config is copied; the memory it names is borrowed until
 * zs_pool_destroy.  Takes a few hundred kB; populates nothing.
 * -EINVAL: a field out of range.  -ENOMEM.
 */
int zs_pool_create (const struct zs_config *config, struct zs_pool **pool);

/* Forget the pool.  Does not release the data. */
void zs_pool_destroy (struct zs_pool *pool);

/* Payloads above this many bytes are stored as huge. */
size_t zs_max_payload (const struct zs_pool *pool);

/* Bytes of the class in which a payload of len bytes, 1..4096, is stored. */
size_t zs_class_bytes (const struct zs_pool *pool, size_t len);

/* The most pages that may be used by zspages; 0 means no limit.  Takes effect
 * on the next growth: a pool above it keeps what it has.
 */
void zs_set_limit (struct zs_pool *pool, size_t pages);

/* Pages of the limit, and of the budget's, but at most a 16th of it, that only
 * zs_malloc_kept may use.  0 at first.
 */
void zs_set_kept (struct zs_pool *pool, size_t pages);

/* Allocate an object for len bytes of payload, 1..4096, for this owner.
 * -ENOSPC: the pool's limit is reached.  -EDQUOT: the budget's is.  -ENOMEM: the
 * kernel refused memory.  -ENOBUFS: the data is full.  -EINVAL: len.
 * On error nothing has changed.  Does not block unless it must grow, and with
 * ahead_pages only if its stock is used up and zs_feed got on lately.  If it did
 * not, an object may be larger than len needs, or take a page of the reserve.
 */
int zs_malloc (struct zs_pool *pool, size_t len, uint32_t owner, zs_ref *ref);

/* The same, also of what zs_set_kept has set aside; the object is never larger
 * than len needs, nor of the reserve.
 */
int zs_malloc_kept (struct zs_pool *pool, size_t len, uint32_t owner,
                    zs_ref *ref);

/* An object that is free already, of a class that is larger than needed but has
 * less than below bytes an object.  -ENOSPC: there is none.
 */
int zs_malloc_below (struct zs_pool *pool, size_t len, size_t below,
                     uint32_t owner, zs_ref *ref);

/* As zs_malloc, from the reserve, a page of which holds any object; for when
 * zs_malloc had -ENOMEM or -ENOBUFS and nothing else helped.  -ENOMEM: it is
 * used up.
 */
int zs_malloc_reserve (struct zs_pool *pool, size_t len, uint32_t owner,
                       zs_ref *ref);

/* Free an object.  ref must be one that zs_malloc gave (or compaction moved it
 * to) and must not move meanwhile: the owner no longer refers to it.
 */
void zs_free (struct zs_pool *pool, zs_ref ref);

/* The payload of an object.  Valid while the object can not move, that is
 * while relocate would say -EBUSY.  zs_capacity bytes may be written.
 */
void *zs_map (const struct zs_pool *pool, zs_ref ref);

/* Ask the processor for what reading, or freeing, the object will look at, so
 * that it comes while the caller does something else.  Any reference will do: one
 * that is wrong costs time only.  An object that is there must not move or be freed
 * meanwhile.
 */
void zs_prefetch_object (const struct zs_pool *pool, zs_ref ref, size_t len);
void zs_prefetch_free (const struct zs_pool *pool, zs_ref ref);

/* A tag of the owner's, which moves with the object; for the checksum of its
 * payload.  Until it is set it is anything.
 */
uint8_t zs_tag (const struct zs_pool *pool, zs_ref ref);
void zs_set_tag (struct zs_pool *pool, zs_ref ref, uint8_t tag);

/* Bytes of payload that the object's class has room for. */
size_t zs_capacity (const struct zs_pool *pool, zs_ref ref);

/* For references that come from outside (a slot table that may be damaged):
 * whether ref is the place of an object of this owner, not free, that has room
 * for len payload bytes.  The caller keeps its objects from moving.
 */
bool zs_ref_is_plausible (const struct zs_pool *pool, zs_ref ref, size_t len,
                          uint32_t owner);

/* The bounce page: whole-page room for one object, always there once
 * zs_reserve_fill has succeeded, never counted as used.  The caller serialises
 * its use.  Before that: -ENOENT.
 */
int zs_bounce (struct zs_pool *pool, zs_ref *ref);

/* Populate the bounce page and the reserve, as far as they are not. */
int zs_reserve_fill (struct zs_pool *pool);

/* Populate a little of what ahead_pages asks for, where most is missing, or the
 * reserve; *more says whether to come again.  Chain lengths for which the data
 * has no room any more get none.  Blocks on the kernel, with nothing locked that
 * zs_malloc wants.  One thread at a time.  -ENOMEM: the kernel refused; then
 * *more is false.
 */
int zs_feed (struct zs_pool *pool, bool *more);

/* Compact a class a little: at most 64 copies, with the class locked for less
 * than 200 us.  Returns the number of pages that zspages no longer use; *more
 * says whether there is more to do.  Objects that relocate refuses are passed
 * over.  May block giving memory back, with nothing locked.
 */
size_t zs_compact_slice (struct zs_pool *pool, unsigned class_index,
                         bool *more);

/* Compact a class, or everything, slice by slice.  Returns pages as
 * zs_compact_slice.
 */
size_t zs_compact_class (struct zs_pool *pool, unsigned class_index);
size_t zs_compact (struct zs_pool *pool);

/* Compact until so many pages are freed, or nothing is freeable. */
size_t zs_compact_some (struct zs_pool *pool, size_t want);

/* Pages that compaction has freed since the pool was made.  Constant time. */
size_t zs_compacted_pages (const struct zs_pool *pool);

/* Pages that zs_compact could give back now.  Constant time, no locks.  Who
 * sees 0 here, and calls zs_malloc after that, has what compaction freed.
 */
size_t zs_freeable_pages (const struct zs_pool *pool);

/* Give back stock until at most keep_pages are left, also of what zs_feed
 * keeps.
 */
void zs_trim_stock (struct zs_pool *pool, size_t keep_pages);

/* Give back so many pages of the excess, about. */
void zs_trim_excess (struct zs_pool *pool, size_t most);

/* Pages of stock beyond what the pool keeps when nothing is going on. */
size_t zs_excess_stock (const struct zs_pool *pool);

struct zs_pool_stats {
  size_t pages_used;      /* in zspages; mem_used_total in pages */
  size_t pages_used_max;  /* highest since the last reset */
  size_t pages_limit;     /* 0 = none */
  size_t pages_compacted; /* freed by compaction, since creation */
  size_t objects_moved;   /* by compaction, since creation */
  size_t freeable_pages;
  size_t stock_pages;   /* populated, unused */
  size_t reserve_pages; /* reserve and bounce */
  size_t meta_bytes;    /* descriptors and records that have memory */
};
/* Figures may be of slightly different moments.  No class lock is taken. */
void zs_pool_stats (const struct zs_pool *pool, struct zs_pool_stats *stats);

/* pages_used_max = pages_used. */
void zs_reset_used_max (struct zs_pool *pool);

/* The same, and count compacted pages and moved objects from 0 again. */
void zs_reset_counts (struct zs_pool *pool);

/* Fullness groups as in zsmalloc's `classes`: <10%, 10-20%, ... 90-99%, 100%
 */
#define ZS_NR_GROUPS 11

struct zs_class_stats {
  unsigned index;
  unsigned size;
  size_t groups[ZS_NR_GROUPS]; /* zspages */
  size_t obj_allocated, obj_used;
  size_t pages_used;
  unsigned pages_per_zspage;
  size_t freeable; /* pages */
};
/* One class; false if the index is out of range or of a merged class. */
bool zs_class_stats (struct zs_pool *pool, unsigned class_index,
                     struct zs_class_stats *stats);

/* Prove the invariants, with everything locked; for tests and debugging.
 * Returns 0, or -EUCLEAN and the reason in *why (a static string).
 */
int zs_validate (struct zs_pool *pool, const char **why);

/* Call fn for each allocated object, with everything locked. */
void zs_for_each_object (struct zs_pool *pool,
                         void (*fn) (void *opaque, zs_ref ref, uint32_t owner),
                         void *opaque);

#endif /* ZSPOOL_H */
