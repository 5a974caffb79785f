/* SPDX-License-Identifier: BSD-3-Clause */
/* What a write does when there is no memory for it: because a limit is reached
 * or because the kernel refuses.
 *
 *   1. compact, if that can free anything, and try again; if the limit is one
 *      that several devices share, compact the others too;
 *   2. overwrite the page's own object, if the new data fit into it;
 *   3. fail with ENOSPC.
 */
#include "store-internal.h"

bool
room_make (struct store *store, int err, size_t compacted)
{
  if (err == -ENOMEM) {
    struct zs_pool_stats before, after;

    /* Stock of another kind does not help, but its memory does. */
    zs_pool_stats (store->pool, &before);
    zs_trim_stock (store->pool, 0);
    zs_pool_stats (store->pool, &after);
    if (after.stock_pages < before.stock_pages)
      return true;
  }
  if (err == -EDQUOT && zs_freeable_pages (store->pool) == 0 &&
      store->room_elsewhere)
    return store->room_elsewhere (store->room_opaque);
  ranked_lock (&store->room_lock);
  if (zs_freeable_pages (store->pool) > 0)
    zs_compact (store->pool);
  ranked_unlock (&store->room_lock);
  /* Whoever held the lock before may have freed something for all. */
  return zs_compacted_pages (store->pool) != compacted;
}

int
room_overwrite_locked (struct store *store, struct stripe *stripe, uint64_t idx,
                       enum slot_kind kind, const void *data, size_t len)
{
  uint64_t old = slot_get_locked (store, idx);
  zs_ref ref = slot_ref (old);
  uint64_t word;

  if (!slot_has_object (old) ||
      !zs_ref_is_plausible (store->pool, ref, slot_len (old), idx) ||
      zs_capacity (store->pool, ref) < len)
    return -ENOSPC;

  /* By way of the bounce page, so that the slot never refers to an object
   * that is being written.
   */
  ranked_lock (&store->bounce_lock);
  memcpy (zs_map (store->pool, store->bounce), data, len);
  word = slot_make_object (kind, store->bounce, len);
  slot_publish_locked (store, stripe, idx, word);
  memcpy (zs_map (store->pool, ref), data, len);
  slot_repoint_locked (store, idx, slot_with_ref (word, ref));
  ranked_unlock (&store->bounce_lock);
  return 0;
}
