/* SPDX-License-Identifier: BSD-3-Clause */
/* What a write does when there is no memory for it: because a limit is reached
 * or because the kernel refuses.
 *
 *   1. if the kernel refuses: give back stock, as stock of another kind does
 *      not help, but its memory does;
 *   2. compact a little;
 *   3. if that frees nothing, recompress a little, and compact what that leaves;
 *   4. if the limit is one that several devices share, or the kernel refuses:
 *      the same with the others;
 *   5. after each of these that freed something, and once more at last, try
 *      again;
 *   6. take what is kept for recompressing, or an object that is too large, or,
 *      if the kernel refuses, a page of the reserve;
 *   7. overwrite the page's own object, if the new data fit into it;
 *   8. fail with ENOSPC.
 */
#include "store-internal.h"

#include "fault-point.h"

/* What to free at once: some hundred copies at most. */
#define ROOM_PAGES 64u
/* How often to wait for a page that is in use, where nothing else would free
 * anything.
 */
#define RETRIES 16u

static bool
memory_is_refused (int err)
{
  return err == -ENOMEM || err == -ENOBUFS;
}

static bool
give_stock (struct store *store)
{
  struct zs_pool_stats before, after;

  zs_pool_stats (store->pool, &before);
  zs_trim_stock (store->pool, 0);
  zs_pool_stats (store->pool, &after);
  return after.stock_pages < before.stock_pages;
}

/* What could not be moved is in the hands of some reader or writer, named in
 * *busy if nothing was freed.
 */
static bool
make_room_locked (struct store *store, bool memory_is_refused,
                  struct stripe **busy)
{
  size_t pages;

  *busy = NULL;
  if (memory_is_refused && give_stock (store))
    return true;
  store->busy_stripe = NULL;
  pages = zs_compact_some (store->pool, ROOM_PAGES);
  if (pages == 0) {
    *busy = store->busy_stripe;
    return false;
  }
  if (memory_is_refused)
    give_stock (store); /* which is what it freed */
  return true;
}

/* Until who has the stripe is done with it. */
static void
wait_for (struct stripe *busy)
{
  ranked_lock (&busy->lock);
  ranked_unlock (&busy->lock);
}

/* Compact, unless something was freed since room_begin. */
static bool
compact_since (struct store *store, bool memory_is_refused,
               const struct room *room)
{
  struct stripe *busy;
  unsigned i;
  bool freed;

  for (i = 0; i <= RETRIES; ++i) {
    ranked_lock (&store->compact_lock);
    freed = (room && zs_compacted_pages (store->pool) != room->compacted) ||
            make_room_locked (store, memory_is_refused, &busy);
    ranked_unlock (&store->compact_lock);
    if (freed || busy == NULL)
      return freed;
    wait_for (busy);
  }
  return false;
}

/* Recompression needs memory itself, so it is of no use if there is none. */
static bool
make_room_since (struct store *store, bool memory_is_refused,
                 const struct room *room)
{
  return compact_since (store, memory_is_refused, room) ||
         (!memory_is_refused && recompress_for_room (store) &&
          compact_since (store, false, room));
}

bool
store_make_room (struct store *store, bool memory_is_refused)
{
  return make_room_since (store, memory_is_refused, NULL);
}

void
room_begin (struct store *store, struct room *room)
{
  room->compacted = zs_compacted_pages (store->pool);
}

bool
room_make (struct store *store, int err, struct room *room)
{
  bool freed;

  /* Whoever compacted meanwhile may have freed enough for all. */
  freed = make_room_since (store, memory_is_refused (err), room);
  if (!freed && err != -ENOSPC && store->room_elsewhere)
    freed = store->room_elsewhere (store->room_opaque, memory_is_refused (err));
  if (freed)
    return true;
  /* What others freed while this looked, it did not see. */
  if (room->was_last)
    return false;
  room->was_last = true;
  return true;
}

int
room_overwrite_locked (struct store *store, struct stripe *stripe, uint64_t idx,
                       uint64_t word, const void *data, size_t len)
{
  uint64_t old = slot_get_locked (store, idx);
  zs_ref ref = slot_ref (old);

  /* A store that was recovered may have pages and no bounce page. */
  if (!atomic_load_explicit (&store->started, memory_order_acquire) ||
      !slot_has_object (old) ||
      !zs_ref_is_plausible (store->pool, ref, slot_len (old), idx) ||
      zs_capacity (store->pool, ref) < len)
    return -ENOSPC;

  /* By way of the bounce page, so that the slot never refers to an object
   * that is being written.
   */
  ranked_lock (&store->bounce_lock);
  memcpy (zs_map (store->pool, store->bounce), data, len);
  zs_set_tag (store->pool, store->bounce, codec_checksum (data, len));
  word = slot_with_ref (word, store->bounce);
  slot_publish_locked (store, stripe, idx, word);
  FAULT_POINT ("room: in the bounce page");
  memcpy (zs_map (store->pool, ref), data, len);
  zs_set_tag (store->pool, ref, codec_checksum (data, len));
  FAULT_POINT ("room: in its place again");
  slot_repoint_locked (store, idx, slot_with_ref (word, ref));
  ranked_unlock (&store->bounce_lock);
  return 0;
}
