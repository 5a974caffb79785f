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

#include "fault-point.h"

/* What a writer who needs room tries at once, and how much of that in vain. */
#define ROOM_STEP 16u
#define ROOM_VAIN 64u

/* A page that is being recompressed. */
struct work {
  uint64_t idx;
  uint64_t word; /* as it was */
  uint8_t page[ZSPAGE_PAGE_SIZE];
};

/* Whether the page is to have another dictionary, so that its own can go; however
 * little that gains.
 */
static bool
is_leaving (const struct store *store, uint64_t word)
{
  return slot_kind (word) == SLOT_ZSTD && store->leaving_generation &&
         slot_generation (word) == store->leaving_generation;
}

/* Whether recompression was not tried yet. */
static bool
is_unsettled (uint64_t word)
{
  return (slot_kind (word) == SLOT_RAW || slot_kind (word) == SLOT_LZ4 ||
          slot_kind (word) == SLOT_ZSTD) &&
         !(word & (SLOT_MARK_RECOMPRESSED | SLOT_MARK_INCOMPRESSIBLE));
}

static bool
is_wanted (const struct store *store, const struct store_recompress *how,
           uint64_t word)
{
  bool huge = slot_kind (word) == SLOT_RAW;

  if (is_leaving (store, word))
    return true;
  if (!is_unsettled (word) || slot_len (word) < how->threshold)
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
  if (is_wanted (store, how, work->word)) {
    wanted =
      page_peek_locked (store, ctx, work->idx, work->word, work->page) == 0;
    if (wanted)
      slot_repoint_locked (store, work->idx, work->word | SLOT_MARK_IN_WORK);
  }
  else if (how->which & STORE_RECOMPRESS_AGES && is_unsettled (work->word) &&
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
  size_t was = zs_class_bytes (store->pool, slot_len (work->word)), len;
  const void *data;
  zs_ref ref;

  /* A reset came in between: what is current now is not digested for this. */
  *tried = generation == store->pass_generation;
  if (!*tried)
    return false;
  len = codec_compress (ctx, dictionary_of (store, generation), work->page,
                        zs_max_payload (store->pool), &data);
  if (len == 0 || (zs_class_bytes (store->pool, len) >= was &&
                   !is_leaving (store, work->word)))
    return false;
  if (zs_malloc_kept (store->pool, len, work->idx, &ref) < 0 &&
      zs_malloc_below (store->pool, len, was, work->idx, &ref) < 0) {
    *tried = false;
    return false;
  }
  memcpy (zs_map (store->pool, ref), data, len);
  zs_set_tag (store->pool, ref, codec_checksum (data, len));
  *word =
    slot_with_generation (slot_make_object (SLOT_ZSTD, ref, len), generation);
  return true;
}

static void
count_won (struct store *store, uint64_t before, uint64_t after)
{
  size_t was = zs_class_bytes (store->pool, slot_len (before));
  size_t is = zs_class_bytes (store->pool, slot_len (after));

  atomic_fetch_add_explicit (&store->recompressed.won, 1, memory_order_relaxed);
  if (is < was)
    atomic_fetch_add_explicit (&store->recompressed.saved, was - is,
                               memory_order_relaxed);
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
    else if (tried && is_unsettled (now)) {
      slot_repoint_locked (store, work->idx, now | SLOT_MARK_INCOMPRESSIBLE);
      count_locked (&stripe->counters.settled_pages, 1);
    }
    else
      slot_repoint_locked (store, work->idx, now);
    if (placed)
      count_won (store, work->word, word);
  }
  if (stripe)
    slot_unlock (stripe);
  object_free (store, work->idx, unused);
}

/* Whether a group has pages that recompression was not tried with. */
static bool
group_is_open (const struct stripe *group)
{
  int64_t open = 0;
  unsigned i, g;

  for (i = 0; i < STRIPES_PER_GROUP; ++i) {
    const struct stripe_counters *c = &group[i].counters;

    for (g = 0; g <= SLOT_GEN_MAX; ++g)
      open += atomic_load_explicit (&c->zstd_pages[g], memory_order_acquire);
    open += atomic_load_explicit (&c->lz4_pages, memory_order_acquire);
    open += atomic_load_explicit (&c->huge_pages, memory_order_acquire);
    /* Last, as it is first to go: pages that go meanwhile hide no others. */
    open -= atomic_load_explicit (&c->settled_pages, memory_order_acquire);
  }
  return open > 0;
}

/* The first table page from t on that may have pages worth looking at. */
static uint64_t
table_next_open (struct store *store, uint64_t t)
{
  const uint64_t end = store->nr_table_pages;
  bool open[NR_GROUPS];
  unsigned i;

  for (i = 0; i < NR_GROUPS; ++i)
    open[i] = store->leaving_generation > 0 ||
              group_is_open (&store->stripes[i * STRIPES_PER_GROUP]);
  t = table_next_present (store, t, end);
  while (t < end &&
         !open[(group_of (store, t) - store->stripes) / STRIPES_PER_GROUP])
    t = table_next_present (store, t + 1, end);
  return t;
}

/* Of slots [first, end) of a table page those that are worth looking at: a bit
 * each, from that of the table page's first slot on.  All in one go, as at the
 * limit whoever needs room may look through a large device for the last few.
 */
static bool
find_open (struct store *store, uint64_t first, uint64_t end, uint64_t *bits)
{
  uint64_t table_page = table_page_of (first), idx;
  struct stripe *group = group_of (store, table_page);
  bool any = false;

  memset (bits, 0, SLOTS_PER_TABLE_PAGE / 8);
  end = end < store->nr_pages ? end : store->nr_pages;
  group_lock (group);
  for (idx = first; table_is_present (store, table_page) && idx < end; ++idx) {
    uint64_t word = slot_get_locked (store, idx);

    if (is_unsettled (word) || is_leaving (store, word)) {
      bits[idx % SLOTS_PER_TABLE_PAGE / 64] |= UINT64_C (1) << idx % 64;
      any = true;
    }
  }
  group_unlock (group);
  return any;
}

static uint64_t
thread_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * UINT64_C (1000000000) + now.tv_nsec;
}

/* Try at most so many of the pages from *at to the end of its table page; returns
 * how many, and moves *at on.
 */
static unsigned
table_page_try (struct store *store, const struct store_recompress *how,
                uint64_t *at, unsigned most)
{
  uint64_t end = (table_page_of (*at) + 1) * SLOTS_PER_TABLE_PAGE, word;
  uint64_t bits[SLOTS_PER_TABLE_PAGE / 64];
  unsigned nr_tried = 0;
  struct codec_ctx *ctx;
  struct work work;
  bool placed, tried;

  if (!find_open (store, *at, end, bits)) {
    *at = end;
    return 0;
  }
  ctx = codec_get (store->strong);
  for (; *at < end && nr_tried < most; ++*at) {
    if (!(bits[*at % SLOTS_PER_TABLE_PAGE / 64] >> *at % 64 & 1))
      continue;
    work.idx = *at;
    if (!work_begin (store, how, ctx, &work))
      continue;
    FAULT_POINT ("recompress: in work");
    word = 0;
    placed = work_do (store, ctx, &work, &word, &tried);
    work_end (store, &work, placed, tried, word);
    ++nr_tried;
  }
  codec_put (ctx);
  return nr_tried;
}

/* store_recompress_slice, without the lock. */
static bool
slice_locked (struct store *store, const struct store_recompress *how,
              uint64_t *at, unsigned *nr_tried)
{
  uint64_t began = thread_ns ();
  uint64_t t = table_next_open (store, table_page_of (*at));
  unsigned most = *nr_tried;

  if (t != table_page_of (*at))
    *at = t * SLOTS_PER_TABLE_PAGE;
  *nr_tried =
    t < store->nr_table_pages ? table_page_try (store, how, at, most) : 0;
  atomic_fetch_add_explicit (&store->recompressed.tried, *nr_tried,
                             memory_order_relaxed);
  atomic_fetch_add_explicit (&store->recompressed.ns, thread_ns () - began,
                             memory_order_relaxed);
  return *at < store->nr_pages && t < store->nr_table_pages;
}

bool
store_recompress_slice (struct store *store, const struct store_recompress *how,
                        uint64_t *at, unsigned *nr_tried)
{
  bool more;

  ranked_lock (&store->recompress_lock);
  more = slice_locked (store, how, at, nr_tried);
  ranked_unlock (&store->recompress_lock);
  return more;
}

static bool
is_open (const struct store *store)
{
  unsigned i;

  for (i = 0; i < NR_GROUPS; ++i)
    if (group_is_open (&store->stripes[i * STRIPES_PER_GROUP]))
      return true;
  return false;
}

/* Going round the device once at most. */
static bool
recompress_for_room_locked (struct store *store)
{
  const struct store_recompress how = {0};
  uint64_t won, first = store->room_at;
  unsigned n, vain = 0;
  bool round = false;

  if (recompress_begin_locked (store) < 0)
    return false;
  while (zs_freeable_pages (store->pool) == 0 && vain < ROOM_VAIN &&
         !(round && store->room_at >= first)) {
    won = atomic_load (&store->recompressed.won);
    n = ROOM_STEP;
    if (!slice_locked (store, &how, &store->room_at, &n)) {
      if (round)
        break;
      round = true;
      store->room_at = 0;
    }
    vain = atomic_load (&store->recompressed.won) != won ? 0 : vain + n;
  }
  return zs_freeable_pages (store->pool) > 0;
}

bool
recompress_for_room (struct store *store)
{
  bool freed;

  if (store->strong == NULL || !is_open (store))
    return false;
  ranked_lock (&store->recompress_lock);
  freed = recompress_for_room_locked (store);
  ranked_unlock (&store->recompress_lock);
  return freed;
}

size_t
recompress_encode (struct store *store, const void *page, void *out,
                   unsigned *generation)
{
  struct codec_ctx *ctx;
  const void *data;
  size_t len = 0;

  if (store->strong == NULL)
    return 0;
  ranked_lock (&store->recompress_lock);
  if (recompress_begin_locked (store) == 0) {
    *generation = store->pass_generation;
    /* No generation is forgotten while this has the lock. */
    atomic_fetch_add (&store->pins[*generation], 1);
    ctx = codec_get (store->strong);
    len = codec_compress (ctx, dictionary_of (store, *generation), page,
                          zs_max_payload (store->pool), &data);
    if (len > 0)
      memcpy (out, data, len);
    else
      generation_unpin (store, *generation);
    codec_put (ctx);
  }
  ranked_unlock (&store->recompress_lock);
  return len;
}
