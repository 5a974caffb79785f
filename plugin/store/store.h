/* SPDX-License-Identifier: BSD-3-Clause */
/* The store: a device of pages, each kept compressed.
 *
 * Everything is thread-safe except create and destroy.  Requests may overlap;
 * each page is read or written whole, at one moment.  Functions return 0 or a
 * negative errno; what was stored before an error stays readable.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "codec.h"
#include "crew.h"
#include "state-file.h"
#include "zspool.h"

struct store;

struct store_config {
  const char *name;     /* of the device; for /proc/PID/maps */
  uint64_t disksize;    /* bytes, a multiple of 4096, 4096..2^44 */
  uint64_t mem_limit;   /* bytes of zspages; 0 = no limit */
  unsigned chain_size;  /* pages, 4..16 */
  bool is_locked;       /* see arena_create */
  size_t reserve_pages; /* kept for when the kernel refuses memory */
  /* Populated before they are needed, at most disksize and mem_limit; 0 = none.
   */
  size_t ahead_pages;
  /* It is time for store_feed.  Any thread, with any locks; must not block. */
  void (*hungry) (void *opaque);
  void *hungry_opaque;
  /* Borrowed, and may be shared by several stores: what pages are compressed
   * with when they are written; what to use instead after store_set_dense; and
   * for recompressing.  The latter are of zstd, or NULL: there is none.
   */
  struct codec_pool *codec, *dense, *strong;
  /* Whether mem_meta counts them: for one of those that share them. */
  bool counts_codec, counts_strong; /* strong: and dense */
  bool counts_crew;
  /* Borrowed, and shared by all: helps with large writes.  Made with
   * store_crew_bytes () of scratch.  NULL: nobody helps.
   */
  struct crew *crew;
  struct zs_budget *budget; /* of several stores together; NULL = none */
  /* The budget is used up, or the kernel refuses memory, and this store has
   * nothing to give: make room in others.  Called without locks.  Returns
   * whether that freed anything.  May be NULL.
   */
  bool (*room_elsewhere) (void *opaque, bool memory_is_refused);
  void *room_opaque;
  struct headroom *headroom;   /* NULL = memory is what the kernel gives */
  const struct arena_ops *ops; /* NULL = libc's */
  bool has_checks;             /* of each page, as it is stored */

  /* What is to outlive the process is in this file, which is the store's from
   * then on, also if it cannot be created; NULL: nothing is.  disksize,
   * chain_size and has_checks are those of the file then.
   */
  const struct state_file *file;
  bool is_look; /* the file was opened to look at it: it is not changed */
  /* Called every second or so, by some thread, while the file is recovered: how
   * much of the slot table is done.  May be NULL.
   */
  void (*progress) (void *opaque, uint64_t done, uint64_t all);
  void *progress_opaque;
};

/* What was found in the file. */
struct store_recovered {
  bool is_new;          /* there was none, so that the rest is 0 */
  bool was_closed;      /* its last owner ended as it should */
  uint32_t pid;         /* who died with it; 0: nobody */
  uint64_t pages;       /* that can be read, as far as the slot table tells */
  uint64_t lost;        /* that could be until now, but no longer */
  uint64_t freed_pages; /* of memory, that nothing referred to */
  uint64_t ms;          /* that this took */
};

/* -EINVAL: a field out of range.  -ENOMEM: no address space.  Others: see
 * arena_create.  Populates nothing: that begins with the first write.  What the
 * file has is recovered.
 */
int store_create (const struct store_config *config, struct store **store);
void store_destroy (struct store *store);

/* Whether there is a file; and what was found in it, which for a new one is
 * nothing.
 */
bool store_is_saved (const struct store *store);
struct store_recovered store_recovered (const struct store *store);

bool store_has_checks (const struct store *store);

/* Map all memory that there is, so that it is locked if memory is. */
void store_map (struct store *store);

/* The process has another PID since it forked. */
void store_set_pid (struct store *store);

uint64_t store_disksize (const struct store *store);

/* The level of zstd for which a dictionary must be digested. */
int store_dictionary_level (const struct store *store);

/* That of recompression, or if there is none the same. */
int store_strong_level (const struct store *store);

/* Compress what is written densely from now on, or fast again. */
void store_set_dense (struct store *store, bool dense);
bool store_is_dense (const struct store *store);

/* Populate a little of what ahead_pages asks for, as far as it is not there:
 * pages of each chain length, and the reserve; *more: come again.  (The slot
 * table, if it is no larger than ahead_pages, is populated as a whole at the
 * first write, and stays.)  Blocks on the kernel, while writes go on.  One
 * thread at a time.  Before the first write this does nothing.  -ENOMEM.
 */
int store_feed (struct store *store, bool *more);

/* Make some room for another store that shares a limit, or memory, with this
 * one.  Whether that freed anything.
 */
bool store_make_room (struct store *store, bool memory_is_refused);

/* Any offset and length within the device; -EINVAL beyond it. */

/* -EIO: a page's data are damaged; the buffer's content is undefined from that
 * page on.
 */
int store_read (struct store *store, void *buf, size_t len, uint64_t offset);

/* Pages in part are read, changed and written as one step.
 * -ENOSPC: no room, even after compaction.  Pages before the one that did not
 * fit are new; it and those after it are as before.  -EIO: a page to change in
 * part is damaged.
 */
int store_write (struct store *store, const void *buf, size_t len,
                 uint64_t offset);

/* Scratch that a crew needs to help with writes. */
size_t store_crew_bytes (void);

/* Free the whole pages in the range.  Never fails within the device. */
int store_trim (struct store *store, uint64_t len, uint64_t offset);

/* As store_trim, and zero the parts of pages at the edges; see store_write
 * for the errors of those.
 */
int store_zero (struct store *store, uint64_t len, uint64_t offset);

/* Report [offset, offset+len) in order as extents that read as zeros (never
 * written, trimmed, zeroed, or written with zeros) and others.  fn returns
 * false to stop.
 */
int store_extents (struct store *store, uint64_t len, uint64_t offset,
                   bool (*fn) (void *opaque, uint64_t offset, uint64_t len,
                               bool zero),
                   void *opaque);

/* Compact everything.  Returns pages freed. */
size_t store_compact (struct store *store);

/* Compact a size class a little; as zs_compact_slice. */
size_t store_compact_slice (struct store *store, unsigned class_index,
                            bool *more);

/* Give a little of the stock beyond what is kept at rest back to the kernel.
 * Returns whether there is more to give.
 */
bool store_trim_stock_slice (struct store *store);

/* Bytes; 0 = no limit; rounded up to a page.  What is stored stays. */
void store_set_mem_limit (struct store *store, uint64_t bytes);

/* As writing 0 to zram's mem_used_max. */
void store_reset_mem_used_max (struct store *store);

/* Mark every stored page idle, until it is read or written; in slices of at most
 * 512 pages.  *at is 0 at first; whether there is more to do.
 */
bool store_mark_idle_slice (struct store *store, uint64_t *at);

/* Forget every page, and start every count again.  Meant for a device that
 * nobody uses; what is written meanwhile may be forgotten too.
 */
void store_reset (struct store *store);

/* The same in slices of at most 512 pages, as store_mark_idle_slice. */
bool store_reset_slice (struct store *store, uint64_t *at);

/* Dictionaries, of a store whose codec is zstd, or that is recompressed by it.
 * Those of these that take a store that is not const are for one thread.
 */

/* Compress with it from now on, as the next generation; it must be digested for
 * store_dictionary_level.  It is the store's then.  -EBUSY: there are
 * 15, and pages need them all.  -ENOMEM: it cannot be saved.  On error it
 * is the caller's.
 */
int store_dictionary_add (struct store *store, struct dictionary *dictionary);

/* The newest is not forgotten, and is the newest again after a reset; else a
 * reset leaves none: what was learnt from one client's pages is not for the next
 * one's, whose figures would tell of it.
 */
void store_dictionary_keep (struct store *store);

/* How often the store was reset. */
uint64_t store_resets (const struct store *store);

/* Have the newest, if there is one, digested for recompressing too; and no
 * longer, which saves the memory.  -ENOMEM.
 */
int store_recompress_begin (struct store *store);
void store_recompress_end (struct store *store);

/* Forget generations that no page needs any more, but for the newest. */
void store_dictionaries_reap (struct store *store);

/* The newest, 1..15; 0: none yet. */
unsigned store_generation (const struct store *store);

/* That of a generation, or NULL, and how many pages need it. */
struct dictionary *store_dictionary (struct store *store, unsigned generation,
                                     uint64_t *pages);

/* Count so many bytes in mem_meta: what its dictionary is being made of. */
void store_count_learning (struct store *store, uint64_t bytes);

/* Bytes of the class in which len bytes of a page are stored. */
size_t store_class_bytes (const struct store *store, size_t len);

/* How far a sample has come; all zero at first. */
struct store_sampler {
  uint64_t table_page; /* of the slot table */
  uint64_t nth;        /* of those that have memory */
  uint64_t next;       /* page: those before it were looked at */
};

/* A copy of a page that is stored compressed: number i, from 0 on in turn, of nr
 * that are spread evenly over what is stored.  Whether there is one.
 */
bool store_sample (struct store *store, struct store_sampler *at, uint64_t i,
                   uint64_t nr, void *page);

/* Which pages to recompress: all of what these say. */
#define STORE_RECOMPRESS_IDLE 1u /* marked idle */
#define STORE_RECOMPRESS_HUGE 2u
#define STORE_RECOMPRESS_OLD  4u /* not used since the last pass that ages */
#define STORE_RECOMPRESS_AGES 8u /* not a condition: make the others old */

struct store_recompress {
  unsigned which;
  uint32_t threshold; /* bytes: only objects of so much, or more */
};

/* Between store_recompress_begin and _end: recompress at most *nr_tried pages
 * from page *at on, within 512 of them; *at is 0 at first.  What gains no class
 * is marked, and not tried again until it is written.  *nr_tried says how many there were; returns whether there is
 * more to do.  One thread at a time, which is the one of the dictionaries.
 */
bool store_recompress_slice (struct store *store,
                             const struct store_recompress *how, uint64_t *at,
                             unsigned *nr_tried);

#define STORE_PAGE_SAME           1u
#define STORE_PAGE_HUGE           2u
#define STORE_PAGE_IDLE           4u
#define STORE_PAGE_RECOMPRESSED   8u
#define STORE_PAGE_INCOMPRESSIBLE 16u
#define STORE_PAGE_LOST           32u /* recovery gave it up */

/* Call fn for each stored page from first on, in order, until it returns false.
 * Nothing is locked meanwhile.
 */
void store_for_each_page (struct store *store, uint64_t first,
                          bool (*fn) (void *opaque, uint64_t page,
                                      unsigned flags),
                          void *opaque);

/* zram's figures, and what it leaves out.  Bytes, or counts of pages. */
struct store_stats {
  /* mm_stat */
  uint64_t orig_data_size, compr_data_size, mem_used_total, mem_limit,
    mem_used_max, same_pages, pages_compacted, huge_pages, huge_pages_since;
  /* io_stat */
  uint64_t failed_reads, failed_writes, invalid_io, notify_free;
  /* recovery */
  uint64_t lost_pages, recovered_pages;
  /* ours */
  uint64_t disksize;
  uint64_t mem_meta;     /* slot table, records, descriptors, contexts */
  uint64_t mem_reserve;  /* populated but unused: stock and reserve */
  uint64_t mem_resident; /* of the shared mapping, by the kernel's account */
  uint64_t freeable;     /* bytes that compaction could give back */
  uint64_t excess_stock; /* bytes of stock beyond what is kept at rest */
  uint64_t objects_moved;
  uint64_t idle_pages;            /* not used since they were marked idle */
  uint64_t idle_seconds;          /* how long ago that was; 0 = never */
  uint64_t lz4_pages, zstd_pages; /* those with a dictionary among them */
  uint64_t dictionary_pages, dictionary_bytes; /* bytes: of all generations */
  uint64_t generation;                         /* the newest; 0 = none */
  uint64_t settled_pages; /* recompressed, or found incompressible */
  /* Pages tried, pages that won, bytes of classes saved, ns of CPU. */
  uint64_t recompress_tried, recompress_won, recompress_saved, recompress_ns;
  uint64_t recompress_seconds;              /* the same, whole ones */
  uint64_t total_mem_used, total_mem_limit; /* of the budget; limit 0 = none */
};
/* Constant time but for the sum over a few hundred stripes.  Figures may be
 * of slightly different moments.
 */
void store_stats (struct store *store, struct store_stats *stats);

/* The allocator's classes; as zs_class_stats. */
bool store_class_stats (struct store *store, unsigned class_index,
                        struct zs_class_stats *stats);

/* Prove that slot table and allocator agree.  Nothing else may be going on.
 * -EUCLEAN, and the reason in *why.
 */
int store_validate (struct store *store, const char **why);

#endif /* STORE_H */
