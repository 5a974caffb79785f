/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures about the pool and its classes. */
#include "zspool-internal.h"

/* zsmalloc's groups: <10%, 10-19%, ... 90-99%, 100%. */
static unsigned
fullness_group (unsigned in_use, unsigned objs)
{
  if (in_use == objs)
    return ZS_NR_GROUPS - 1;
  return 100 * in_use / objs / 10;
}

bool
zs_class_stats (struct zs_pool *pool, unsigned class_index,
                struct zs_class_stats *stats)
{
  struct zs_class *class;
  unsigned n;

  if (class_index >= ZS_NR_SIZES)
    return false;
  class = &pool->classes[class_index];
  if (class->size == 0)
    return false;

  memset (stats, 0, sizeof *stats);
  stats->index = class->index;
  stats->size = class->size;
  stats->pages_per_zspage = class->pages;

  ranked_lock (&class->lock);
  for (n = 1; n <= class->objs; ++n)
    stats->groups[fullness_group (n, class->objs)] += class->counts[n];
  stats->obj_allocated = class->nr_zspages * class->objs;
  stats->obj_used = class->obj_used;
  stats->pages_used = class->nr_zspages * class->pages;
  stats->freeable = (size_t) class->freeable * class->pages;
  ranked_unlock (&class->lock);
  return true;
}

void
zs_pool_stats (const struct zs_pool *pool, struct zs_pool_stats *stats)
{
  struct zs_pool *p = (struct zs_pool *) pool;
  size_t chunks, i;

  memset (stats, 0, sizeof *stats);
  stats->pages_used = atomic_load (&p->pages_used);
  stats->pages_used_max = atomic_load (&p->pages_used_max);
  stats->pages_limit = atomic_load (&p->pages_limit);
  stats->pages_compacted = atomic_load (&p->pages_compacted);
  stats->objects_moved = atomic_load (&p->objects_moved);
  stats->freeable_pages = atomic_load (&p->freeable_pages);
  stats->stock_pages = atomic_load (&p->stock_pages);

  ranked_lock (&p->chunk_lock);
  stats->reserve_pages = p->reserve_pages + (p->bounce ? 1 : 0);
  chunks =
    p->chunks_ready_bytes + p->records_ready_bytes + p->descs_ready_bytes;
  ranked_unlock (&p->chunk_lock);

  stats->meta_bytes = sizeof *p + chunks;
  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (p->classes[i].size != 0)
      stats->meta_bytes += (2 * p->classes[i].objs + 1) * sizeof (uint32_t);
}
