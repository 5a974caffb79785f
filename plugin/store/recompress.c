/* SPDX-License-Identifier: BSD-3-Clause */
/* Recompression: pages that nobody used for a while, or that the first codec
 * made little of, are tried with a stronger one.
 *
 * A page is read and marked as in work, compressed with nothing locked, and
 * published if the mark is still there: whoever writes the page publishes a
 * word without it, while compaction, which only moves the object, keeps it.
 */
#include "store-internal.h"

#include <time.h>

/* A page that is being recompressed. */
struct work {
  uint64_t idx;
  uint64_t word; /* as it was */
  uint8_t page[ZSPAGE_PAGE_SIZE];
};

static bool
is_wanted (const struct store_recompress *how, uint64_t word)
{
  bool huge = slot_kind (word) == SLOT_RAW;

  if (!huge && slot_kind (word) != SLOT_LZ4 && slot_kind (word) != SLOT_ZSTD)
    return false;
  if (word & (SLOT_MARK_RECOMPRESSED | SLOT_MARK_INCOMPRESSIBLE) ||
      slot_len (word) < how->threshold)
    return false;
  if (how->which & STORE_RECOMPRESS_OLD && !(word & SLOT_MARK_OLD))
    return false;
  if (how->which & STORE_RECOMPRESS_IDLE && !(word & SLOT_MARK_IDLE))
    return false;
  return !(how->which & STORE_RECOMPRESS_HUGE) || huge;
}

/* Take up a page, if it is wanted; else let it become old. */
static bool
work_begin (struct store *store, const struct store_recompress *how,
            struct codec_ctx *ctx, struct work *work)
{
  struct stripe *stripe = slot_lock_present (store, work->idx);
  bool wanted = false;

  if (stripe == NULL)
    return false;
  work->word = slot_get_locked (store, work->idx);
  if (is_wanted (how, work->word)) {
    wanted =
      page_peek_locked (store, ctx, work->idx, work->word, work->page) == 0;
    if (wanted)
      slot_repoint_locked (store, work->idx, work->word | SLOT_MARK_IN_WORK);
  }
  else if (how->which & STORE_RECOMPRESS_AGES && slot_has_object (work->word) &&
           !(work->word & SLOT_MARK_OLD))
    slot_repoint_locked (store, work->idx, work->word | SLOT_MARK_OLD);
  slot_unlock (stripe);
  return wanted;
}

/* Compress it, and place what that made if it is in a smaller class.  Whether
 * there is a *word to publish; else, in *tried, whether it was worth a try.
 */
static bool
work_do (struct store *store, struct codec_ctx *ctx, const struct work *work,
         uint64_t *word, bool *tried)
{
  unsigned generation =
    atomic_load_explicit (&store->generation, memory_order_acquire);
  const void *data;
  size_t len;
  zs_ref ref;

  /* A reset came in between: what is current now is not digested for this. */
  *tried = generation == store->pass_generation;
  if (!*tried)
    return false;
  len = codec_compress (ctx, dictionary_of (store, generation), work->page,
                        zs_max_payload (store->pool), &data);
  if (len == 0 || zs_class_bytes (store->pool, len) >=
                    zs_class_bytes (store->pool, slot_len (work->word)))
    return false;
  if (zs_malloc (store->pool, len, work->idx, &ref) < 0) {
    *tried = false;
    return false;
  }
  memcpy (zs_map (store->pool, ref), data, len);
  zs_set_tag (store->pool, ref, codec_checksum (data, len));
  *word =
    slot_with_generation (slot_make_object (SLOT_ZSTD, ref, len), generation);
  return true;
}

/* Publish what work_do made, and mark what it could not. */
static void
work_end (struct store *store, const struct work *work, bool placed, bool tried,
          uint64_t word)
{
  struct stripe *stripe = slot_lock_present (store, work->idx);
  uint64_t now = stripe ? slot_get_locked (store, work->idx) : 0;
  uint64_t unused = placed ? word : 0;

  if (now & SLOT_MARK_IN_WORK) {
    now &= ~SLOT_MARK_IN_WORK;
    if (placed)
      unused = slot_publish_locked (store, stripe, work->idx,
                                    word | SLOT_MARK_RECOMPRESSED |
                                      (now & (SLOT_MARK_IDLE | SLOT_MARK_OLD)));
    else if (tried) {
      slot_repoint_locked (store, work->idx, now | SLOT_MARK_INCOMPRESSIBLE);
      count_locked (&stripe->counters.settled_pages, 1);
    }
    else
      slot_repoint_locked (store, work->idx, now);
    if (placed) {
      atomic_fetch_add_explicit (&store->recompressed.won, 1,
                                 memory_order_relaxed);
      atomic_fetch_add_explicit (
        &store->recompressed.saved,
        zs_class_bytes (store->pool, slot_len (work->word)) -
          zs_class_bytes (store->pool, slot_len (word)),
        memory_order_relaxed);
    }
  }
  if (stripe)
    slot_unlock (stripe);
  object_free (store, work->idx, unused);
}

static uint64_t
thread_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * UINT64_C (1000000000) + now.tv_nsec;
}

bool
store_recompress_slice (struct store *store, const struct store_recompress *how,
                        uint64_t *at, unsigned *nr_tried)
{
  uint64_t began = thread_ns (), end, t;
  unsigned most = *nr_tried;
  struct codec_ctx *ctx;
  struct work work;

  *nr_tried = 0;
  t = table_next_present (store, table_page_of (*at), store->nr_table_pages);
  if (t != table_page_of (*at))
    *at = t * SLOTS_PER_TABLE_PAGE;
  end = (t + 1) * SLOTS_PER_TABLE_PAGE;
  if (t < store->nr_table_pages) {
    ctx = codec_get (store->strong);
    for (; *at < end && *nr_tried < most; ++*at) {
      bool placed, tried;
      uint64_t word = 0;

      work.idx = *at;
      if (!work_begin (store, how, ctx, &work))
        continue;
      placed = work_do (store, ctx, &work, &word, &tried);
      work_end (store, &work, placed, tried, word);
      ++*nr_tried;
    }
    codec_put (ctx);
  }
  atomic_fetch_add_explicit (&store->recompressed.tried, *nr_tried,
                             memory_order_relaxed);
  atomic_fetch_add_explicit (&store->recompressed.ns, thread_ns () - began,
                             memory_order_relaxed);
  return *at < store->nr_pages && t < store->nr_table_pages;
}
