/* SPDX-License-Identifier: BSD-3-Clause */
/* Compaction: move the objects of the emptiest zspages of a class to the
 * fullest ones that have room, until no zspage could be freed.
 *
 * With lists by exact count this is optimal: the zspages that drain are those
 * with fewest objects, so the copies are as few as is possible (all but the
 * ceil (used / objs) fullest are emptied).  What `relocate` refuses, because a
 * reader or writer has the page at this moment, is passed over.
 */
#include "zspool-internal.h"

/* Copies made with a class locked in one go: well under 200 us. */
#define SLICE_MOVES 64u

struct slice {
  unsigned moves;    /* made */
  desc_idx emptied;  /* zspages no longer in the class, linked by next */
  desc_idx stubborn; /* zspages of which something was refused, unlinked */
  unsigned nr_emptied;
};

/* Move the object `from` of src to the fullest zspage.  False if it was
 * refused, or there is no room.
 */
static bool
move_locked (struct zs_pool *pool, struct zs_class *class, struct zspage *src,
             zs_ref from)
{
  struct zspage *dst = class_fullest_locked (pool, class);
  uint8_t *src_obj = zs_address (pool, from);
  uint32_t owner;
  zs_ref to;

  if (dst == NULL)
    return false;
  to = zspage_take_locked (pool, class, dst);
  memcpy (&owner, src_obj, sizeof owner);
  if (pool->config.relocate (pool->config.relocate_opaque, owner, from, to,
                             src_obj, zs_address (pool, to), class->size) < 0) {
    zspage_give_locked (pool, class, dst, to);
    return false;
  }
  /* src is not linked while it drains; give_locked links, so undo that. */
  class_link_locked (pool, class, src);
  zspage_give_locked (pool, class, src, from);
  class_unlink_locked (pool, class, src);
  return true;
}

/* Move what can be moved out of src, which is unlinked, within the slice. */
static bool
drain_locked (struct zs_pool *pool, struct zs_class *class, struct zspage *src,
              struct slice *slice)
{
  bool refused = false;
  unsigned i;

  for (i = 0; i < class->objs && src->in_use > 0; ++i) {
    zs_ref from = zs_first_ref (src) + i * (class->size / ZSPAGE_OBJECT_ALIGN);

    if (zspage_object_is_free (src, i))
      continue;
    if (slice->moves == SLICE_MOVES)
      break;
    if (move_locked (pool, class, src, from))
      slice->moves++;
    else
      refused = true;
  }
  return refused;
}

/* One slice; returns whether there may be more to do. */
static bool
compact_slice_locked (struct zs_pool *pool, struct zs_class *class,
                      struct slice *slice)
{
  struct zspage *src;
  bool refused;

  while (class->freeable > 0 && slice->moves < SLICE_MOVES) {
    src = class_emptiest_locked (pool, class);
    if (src == NULL)
      return false;
    class_unlink_locked (pool, class, src);
    refused = drain_locked (pool, class, src, slice);
    if (src->in_use == 0) {
      class_link_locked (pool, class, src);
      zs_uncharge (pool, class->pages);
      atomic_fetch_add_explicit (&pool->pages_compacted, class->pages,
                                 memory_order_relaxed);
      class_remove_locked (pool, class, src);
      src->next = slice->emptied;
      slice->emptied = zs_desc_idx (pool, src);
      slice->nr_emptied++;
    }
    else if (refused) {
      src->next = slice->stubborn;
      slice->stubborn = zs_desc_idx (pool, src);
    }
    else
      class_link_locked (pool, class, src);
  }
  return slice->moves == SLICE_MOVES && class->freeable > 0;
}

size_t
zs_compact_slice (struct zs_pool *pool, unsigned class_index, bool *more)
{
  struct zs_class *class = &pool->classes[class_index];
  struct slice slice = {0};
  desc_idx idx, next;

  *more = false;
  if (class_index >= ZS_NR_SIZES || class->size == 0 || class->is_huge)
    return 0;

  ranked_lock (&class->lock);
  *more = compact_slice_locked (pool, class, &slice);
  for (idx = slice.stubborn; idx; idx = next) {
    next = zs_desc (pool, idx)->next;
    class_link_locked (pool, class, zs_desc (pool, idx));
  }
  ranked_unlock (&class->lock);

  for (idx = slice.emptied; idx; idx = next) {
    next = zs_desc (pool, idx)->next;
    supply_put (pool, zs_desc (pool, idx));
  }
  atomic_fetch_add_explicit (&pool->objects_moved, slice.moves,
                             memory_order_relaxed);
  return (size_t) slice.nr_emptied * class->pages;
}

size_t
zs_compact_class (struct zs_pool *pool, unsigned class_index)
{
  size_t pages = 0;
  bool more;

  do
    pages += zs_compact_slice (pool, class_index, &more);
  while (more);
  return pages;
}

size_t
zs_compact_some (struct zs_pool *pool, size_t want)
{
  size_t pages = 0;
  unsigned i;
  bool more;

  /* Large objects first: fewest copies a page. */
  for (i = ZS_NR_SIZES; i > 0 && pages < want; --i) {
    if (zs_freeable_pages (pool) == 0)
      break;
    do
      pages += zs_compact_slice (pool, i - 1, &more);
    while (more && pages < want);
  }
  return pages;
}

size_t
zs_compact (struct zs_pool *pool)
{
  size_t pages = 0;
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES && zs_freeable_pages (pool) > 0; ++i)
    pages += zs_compact_class (pool, i);
  return pages;
}
