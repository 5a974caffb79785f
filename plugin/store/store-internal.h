/* SPDX-License-Identifier: BSD-3-Clause */
/* The store's structures.
 *
 * The slot table is in the arena (zspage-format.h).  For each of its pages
 * (512 slots, 2 MiB of the device) a private bit says whether it has memory;
 * the table is looked at only after that bit, as reading a hole would allocate
 * it.  Slots are guarded by stripes:
 *
 *    table page ──hash──> group of 8 stripes;  slot i of it: stripe i % 8
 *
 * so that a run of pages spreads over 8 locks, and all slots of a table page
 * can be held by taking 8.
 *
 * Locks, in order: recompress_lock, codec context, table_lock, stripes
 * (ascending), compact_lock, then the pool's.  A stripe is held across decompression, so that the object
 * does not move meanwhile; and, for a page written in part, across compression
 * and growth of the pool, which may ask the kernel for memory.  The 8 stripes of
 * a table page are held while its memory goes back to the kernel.  Room is made
 * with nothing held.
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "ranked-lock.h"
#include "store.h"
#include "zspage-format.h"

#define SLOTS_PER_TABLE_PAGE (ZSPAGE_PAGE_SIZE / sizeof (uint64_t))
#define GROUP_BITS           5
#define STRIPES_PER_GROUP    8u
#define NR_GROUPS            (1u << GROUP_BITS)
#define NR_STRIPES           (STRIPES_PER_GROUP * NR_GROUPS)

/* Counters are changed with the stripe locked, and read without. */
struct stripe_counters {
  _Atomic int64_t pages; /* stored, of whatever kind */
  _Atomic int64_t same_pages, huge_pages;
  _Atomic int64_t compr_bytes; /* of objects that hold pages */
  _Atomic int64_t huge_pages_since;
  _Atomic int64_t idle_pages;
  _Atomic int64_t lz4_pages, settled_pages;
  _Atomic int64_t zstd_pages[SLOT_GEN_MAX + 1]; /* by generation */
  _Atomic int64_t failed_reads, failed_writes;
  _Atomic int64_t lost_pages;
};

/* Guards the slots that map to it, and their objects against moving. */
struct stripe {
  struct ranked_lock lock;
  struct stripe_counters counters;
} __attribute__ ((aligned (ZSPAGE_CACHE_LINE)));

struct store {
  struct arena arena;
  struct zs_pool *pool;
  struct codec_pool *codec, *dense, *strong;
  _Atomic (struct codec_pool *) writes_with; /* codec or dense */
  struct crew *crew;
  bool counts_codec, counts_strong, counts_crew; /* in mem_meta */
  struct zs_budget *budget;
  uint64_t nr_pages;
  struct zspage_header header; /* what the arena's header says */
  bool is_saved;               /* in a state file */
  struct store_recovered recovered;
  struct zspage_check *checks; /* [nr_pages], in the arena; NULL: none */
  bool reads_need_ctx;

  _Atomic uint64_t *slots; /* [nr_pages], in the arena */
  /* A bit for each page of the table.  Set under table_lock; cleared under
   * table_lock and the group's stripes.
   */
  _Atomic uint64_t *present;
  uint64_t nr_table_pages;
  struct stripe *stripes; /* [NR_STRIPES] */
  size_t ahead_pages;
  void (*hungry) (void *opaque);
  void *hungry_opaque;
  bool table_stays; /* is populated by store_start, and not released */
  _Atomic uint64_t nr_present;

  /* Guards the table's memory.  Held across populating or releasing a page of
   * the table, and while the store starts.
   */
  struct ranked_lock table_lock;
  _Atomic bool started;
  zs_ref bounce; /* constant once started */

  /* One thread compacts at a time: so none that looks for room finds none only
   * because another is about to free it.  Of the same rank as bounce_lock, and
   * never held with it.
   */
  struct ranked_lock compact_lock;
  struct stripe *busy_stripe; /* the last that relocate did not get */
  /* Guards the content of the bounce page. */
  struct ranked_lock bounce_lock;
  bool (*room_elsewhere) (void *opaque, bool memory_is_refused);
  void *room_opaque;

  /* Guards what digests there are, and which pages are being recompressed: by
   * the housekeeper, or by a writer who needs room.  Held across compression of
   * a few pages, and across making and forgetting dictionaries.
   */
  struct ranked_lock recompress_lock;
  uint64_t room_at; /* the page from which a writer goes on */

  /* dictionaries.c.  A generation is set while no slot has it, and freed when
   * none has it any more, both under recompress_lock.  Any may choose which is
   * current.
   */
  _Atomic (struct dictionary *) dictionaries[SLOT_GEN_MAX + 1];
  _Atomic unsigned generation;      /* of what is compressed now; 0 = none */
  _Atomic unsigned kept_generation; /* is never freed; 0 = none */
  unsigned pass_generation;         /* digested for recompressing */
  /* Recompressed whatever it gains, as there are few generations left; 0 = none.
   */
  unsigned leaving_generation;
  _Atomic uint64_t resets;
  _Atomic uint64_t dictionary_bytes; /* of memory */
  _Atomic uint64_t learning_bytes;   /* as store_count_learning was told */
  /* Of each generation, writers who may publish it, yet have no codec context. */
  _Atomic unsigned pins[SLOT_GEN_MAX + 1];

  struct {
    _Atomic uint64_t tried, won, saved, ns;
  } recompressed; /* as in store_stats */

  _Atomic uint64_t notify_free;
  _Atomic int64_t marked_at; /* s of CLOCK_MONOTONIC; 0: never */
};

/* slot-table.c */

static inline uint64_t
table_page_of (uint64_t idx)
{
  return idx / SLOTS_PER_TABLE_PAGE;
}

static inline struct stripe *
group_of (struct store *store, uint64_t table_page)
{
  uint64_t hash = table_page * UINT64_C (0x9e3779b97f4a7c15);

  return &store->stripes[(hash >> (64 - GROUP_BITS)) * STRIPES_PER_GROUP];
}

static inline struct stripe *
stripe_of (struct store *store, uint64_t idx)
{
  return group_of (store, table_page_of (idx)) + idx % STRIPES_PER_GROUP;
}

static inline bool
table_is_present (const struct store *store, uint64_t table_page)
{
  uint64_t word = atomic_load_explicit (&store->present[table_page / 64],
                                        memory_order_acquire);

  return word >> table_page % 64 & 1;
}

/* The first present table page in [from, end), or end. */
uint64_t table_next_present (const struct store *store, uint64_t from,
                             uint64_t end);

/* Lock the slot of a page that is about to be read.  NULL, and no lock, if
 * nothing is stored there.
 */
struct stripe *slot_lock_present (struct store *store, uint64_t idx);

/* Lock the slot of a page that is about to be written, and see to it that the
 * table has memory there.  -ENOSPC if it cannot have.
 */
int slot_lock_for_write (struct store *store, uint64_t idx,
                         struct stripe **stripe);

static inline void
slot_unlock (struct stripe *stripe)
{
  ranked_unlock (&stripe->lock);
}

void group_lock (struct stripe *group);
void group_unlock (struct stripe *group);

/* The word of a slot whose stripe is locked. */
static inline uint64_t
slot_get_locked (const struct store *store, uint64_t idx)
{
  return atomic_load_explicit (&store->slots[idx], memory_order_relaxed);
}

/* Publish a word: all that it refers to is written.  Returns the old one, the
 * object of which is now the caller's to free.  Counts.
 */
uint64_t slot_publish_locked (struct store *store, struct stripe *stripe,
                              uint64_t idx, uint64_t word);

/* Free the object of a word that the slot no longer has.  A word that was
 * damaged frees nothing.
 */
static inline void
object_free (struct store *store, uint64_t idx, uint64_t word)
{
  if (slot_has_object (word) &&
      zs_ref_is_plausible (store->pool, slot_ref (word), slot_len (word), idx))
    zs_free (store->pool, slot_ref (word));
}

/* The same page is elsewhere now: publish without counting. */
static inline void
slot_repoint_locked (struct store *store, uint64_t idx, uint64_t word)
{
  atomic_store_explicit (&store->slots[idx], word, memory_order_release);
}

/* Give memory to a page of the table, if it has none.  Wants table_lock.
 * -ENOMEM.
 */
int table_populate_locked (struct store *store, uint64_t table_page);

/* Give memory to the whole table, as far as there is any.  Wants table_lock. */
void table_populate_all_locked (struct store *store);

/* Give back the memory of a table page, all of whose slots are empty.  Wants
 * table_lock and the page's group.
 */
void table_release_locked (struct store *store, uint64_t table_page);

/* Recovery: a table page has memory, as the file says; that of its checks is seen
 * to.  -ENOMEM.
 */
int table_adopt_locked (struct store *store, uint64_t table_page);
/* The slot has this word, which is to be counted. */
void slot_adopt_locked (struct stripe *stripe, uint64_t word);
/* What the slot has cannot be trusted; its object is not the slot's. */
void slot_give_up_locked (struct store *store, struct stripe *stripe,
                          uint64_t idx);

/* Count in a stripe that is locked.  Whoever sees that no page needs a dictionary
 * any more, sees that its readers are done.
 */
static inline void
count_locked (_Atomic int64_t *counter, int64_t by)
{
  atomic_store_explicit (
    counter, atomic_load_explicit (counter, memory_order_relaxed) + by,
    memory_order_release);
}

/* As count_locked, when the stripe is not locked. */
void count_failed_writes (struct store *store, uint64_t idx, uint64_t pages);

/* store.c: what the first write of a device does.  -ENOSPC. */
int store_start (struct store *store);

/* Whether [offset, offset+len) is in the device. */
static inline bool
range_is_valid (const struct store *store, uint64_t len, uint64_t offset)
{
  uint64_t disksize = store->nr_pages * ZSPAGE_PAGE_SIZE;

  return offset <= disksize && len <= disksize - offset;
}

/* read.c: the content of a page whose slot is locked. */
int page_read_locked (struct store *store, struct stripe *stripe,
                      struct codec_ctx *ctx, uint64_t idx, void *page);

/* The same without a trace: not a read that was asked for.  word is the slot's. */
int page_peek_locked (struct store *store, struct codec_ctx *ctx, uint64_t idx,
                      uint64_t word, void *page);

/* dictionaries.c: that of a generation; NULL for 0, and for one that is gone. */
static inline const struct dictionary *
dictionary_of (const struct store *store, unsigned generation)
{
  return atomic_load_explicit (&store->dictionaries[generation],
                               memory_order_acquire);
}

/* Pages that need a generation. */
uint64_t dictionary_pages (struct store *store, unsigned generation);

/* After a reset: the one that is kept, or none, is current. */
void dictionaries_reset (struct store *store);

/* As store_recompress_begin. */
int recompress_begin_locked (struct store *store);

/* recompress.c: recompress pages, however young, until compaction can free
 * something.  Whether it can.  Wants no locks.
 */
bool recompress_for_room (struct store *store);

/* Compress a page as recompression does, into out, which has room for a page.
 * Returns the length, and which *generation it needs, pinned; 0: it gains nothing.
 * Wants no locks.
 */
size_t recompress_encode (struct store *store, const void *page, void *out,
                          unsigned *generation);

/* dictionaries.c: keep the newest generation until it is unpinned. */
unsigned generation_pin (struct store *store);
void generation_unpin (struct store *store, unsigned generation);

/* pages.c: how long ago pages were marked idle; 0 if never. */
int64_t store_idle_seconds (const struct store *store);

/* write.c: change part of a page.  data NULL means zeros. */
int page_write_part (struct store *store, uint64_t idx, const void *data,
                     size_t within, size_t len);

/* room.c */

/* A write's attempts to find room; all zero at first. */
struct room {
  size_t compacted; /* zs_compacted_pages before the last attempt */
  bool was_last;
};

/* Before an attempt. */
void room_begin (struct store *store, struct room *room);
/* After an attempt failed with this error of zs_malloc: make some room.  Whether
 * it is worth another attempt.  Wants no locks.
 */
bool room_make (struct store *store, int err, struct room *room);

/* Overwrite the object that the locked slot has, if the data fit in it.  word is
 * what the slot is to be, with any reference.
 * At any instant the slot refers to the whole old or the whole new data.
 * -ENOSPC if there is none or they do not fit.
 */
int room_overwrite_locked (struct store *store, struct stripe *stripe,
                           uint64_t idx, uint64_t word, const void *data,
                           size_t len);

#endif /* STORE_INTERNAL_H */
