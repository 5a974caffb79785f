/* SPDX-License-Identifier: BSD-3-Clause */
/* Proof of the invariants in zspool-internal.h, from the descriptors up. */
#include "zspool-internal.h"

#include <errno.h>
#include <stdlib.h>

void
zs_lock_all (struct zs_pool *pool)
{
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (pool->classes[i].size != 0)
      ranked_lock_next (&pool->classes[i].lock);
  ranked_lock (&pool->chunk_lock);
}

void
zs_unlock_all (struct zs_pool *pool)
{
  unsigned i;

  ranked_unlock (&pool->chunk_lock);
  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (pool->classes[i].size != 0)
      ranked_unlock (&pool->classes[i].lock);
}

struct tally {
  size_t zspages[ZS_NR_SIZES], objs[ZS_NR_SIZES];
  size_t full[ZS_NR_SIZES];
  size_t stock_pages, spare_pages, kept;
};

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      return #cond;                                                            \
  } while (0)

static const char *
check_active (struct zs_pool *pool, const struct zspage *z,
              const struct zs_kind *kind, unsigned k, struct tally *tally)
{
  const struct zs_class *class = &pool->classes[z->class_index];
  unsigned i, nr_free = 0;

  MUST (class->size != 0);
  MUST (class->kind == k);
  MUST (z->in_use >= 1 && z->in_use <= class->objs);
  for (i = 0; i < kind->words; ++i)
    nr_free += __builtin_popcountll (zspage_free_bits (z, i));
  if (!class->is_huge) {
    const struct zspage_chunk_record *record =
      &pool->config.records[z->page / ZSPAGE_CHUNK_PAGES];

    MUST (z->in_use + nr_free == class->objs);
    MUST (record->classes[z->page % ZSPAGE_CHUNK_PAGES / kind->pages] ==
          z->class_index + 1);
  }
  tally->zspages[z->class_index]++;
  tally->objs[z->class_index] += z->in_use;
  tally->full[z->class_index] += z->in_use == class->objs;
  return NULL;
}

static const char *
check_chunk (struct zs_pool *pool, uint32_t c, struct tally *tally)
{
  const struct zs_chunk *chunk = &pool->chunks[c];
  const struct zs_kind *kind = &pool->kinds[chunk->kind];
  unsigned i, nr[ZSPAGE_ACTIVE + 1] = {0};

  MUST (pool->config.records[c].kind == chunk->kind);
  if (chunk->kind == ZSPAGE_CHUNK_FREE)
    return NULL;
  MUST (chunk->kind < ZSPAGE_CHUNK_KINDS);
  for (i = 0; i < kind->nr_zspages; ++i) {
    const struct zspage *z =
      zs_desc (pool, chunk->descs + i * zs_kind_stride (kind));
    const char *why;

    MUST (z->page == c * ZSPAGE_CHUNK_PAGES + i * kind->pages);
    MUST (z->state <= ZSPAGE_ACTIVE);
    nr[z->state]++;
    if (z->state == ZSPAGE_ACTIVE) {
      why = check_active (pool, z, kind, chunk->kind, tally);
      if (why)
        return why;
    }
  }
  MUST (nr[ZSPAGE_ACTIVE] + nr[ZSPAGE_BUSY] == chunk->nr_active);
  MUST (nr[ZSPAGE_STOCK] == chunk->nr_stock);
  MUST (nr[ZSPAGE_KEPT] == chunk->nr_kept);
  MUST (nr[ZSPAGE_HOLE] == chunk->nr_holes);
  MUST (chunk->nr_holes < kind->nr_zspages);
  tally->stock_pages += (size_t) chunk->nr_stock * kind->pages;
  tally->kept += chunk->nr_kept;
  return NULL;
}

static const char *
check_class (struct zs_pool *pool, const struct zs_class *class,
             const struct tally *tally, size_t *linked_out)
{
  size_t zspages = 0, objs = 0, linked = 0;
  unsigned n;

  for (n = 0; n <= class->objs; ++n) {
    zspages += class->counts[n];
    objs += (size_t) n * class->counts[n];
  }
  MUST (class->counts[0] == 0);
  MUST (zspages == class->nr_zspages);
  MUST (objs == class->obj_used);
  MUST (zspages == tally->zspages[class->index]);
  MUST (objs == tally->objs[class->index]);
  MUST (class->rest < class->objs);
  MUST (zspages * class->objs - objs ==
        (size_t) class->freeable * class->objs + class->rest);

  for (n = 0; n < class->objs; ++n) {
    size_t listed = 0;
    desc_idx idx, prev = 0;

    for (idx = class->by_in_use[n]; idx; idx = zs_desc (pool, idx)->next) {
      const struct zspage *z = zs_desc (pool, idx);

      MUST (z->state == ZSPAGE_ACTIVE && z->class_index == class->index);
      MUST (z->in_use == n && z->prev == prev);
      MUST (++listed <= class->counts[n]);
      prev = idx;
    }
    MUST (listed == class->counts[n]);
    MUST (!(class->nonempty[n / 64] & UINT64_C (1) << n % 64) == (listed == 0));
    linked += listed;
  }
  MUST (linked + tally->full[class->index] == zspages);
  *linked_out = linked;
  return NULL;
}

static const char *
check_all (struct zs_pool *pool, struct tally *tally)
{
  size_t freeable = 0, used = 0, linked;
  desc_idx idx;
  const char *why;
  unsigned i;
  uint32_t c;

  for (c = 0; c < pool->next_chunk; ++c) {
    why = check_chunk (pool, c, tally);
    if (why)
      return why;
  }
  for (i = 0; i < ZS_NR_SIZES; ++i) {
    const struct zs_class *class = &pool->classes[i];

    if (class->size == 0)
      continue;
    why = check_class (pool, class, tally, &linked);
    if (why)
      return why;
    used += class->nr_zspages * class->pages;
    freeable += (size_t) class->freeable * class->pages;
  }
  MUST (freeable == atomic_load (&pool->freeable_pages));
  /* Pages being moved in or out of a class are charged already or still. */
  MUST (used <= atomic_load (&pool->pages_used));
  MUST (tally->stock_pages == atomic_load (&pool->stock_pages));
  MUST (tally->kept == pool->reserve_pages + (pool->bounce ? 1 : 0));
  for (i = 1; i < ZSPAGE_CHUNK_KINDS; ++i) {
    const struct zs_kind *kind = &pool->kinds[i];
    size_t nr = 0;

    for (idx = kind->stock; idx; idx = zs_desc (pool, idx)->next, ++nr)
      MUST (zs_desc (pool, idx)->state == ZSPAGE_STOCK);
    MUST (nr == kind->nr_stock);
    if (nr > kind->nr_ahead)
      tally->spare_pages += (nr - kind->nr_ahead) * kind->pages;
  }
  MUST (tally->spare_pages == atomic_load (&pool->spare_pages));
  return NULL;
}

int
zs_validate (struct zs_pool *pool, const char **why)
{
  struct tally *tally = calloc (1, sizeof *tally);

  if (tally == NULL)
    return -ENOMEM;
  zs_lock_all (pool);
  *why = check_all (pool, tally);
  zs_unlock_all (pool);
  free (tally);
  return *why ? -EUCLEAN : 0;
}

void
zs_for_each_object (struct zs_pool *pool,
                    void (*fn) (void *opaque, zs_ref ref, uint32_t owner),
                    void *opaque)
{
  uint32_t c;
  unsigned i, n;

  zs_lock_all (pool);
  for (c = 0; c < pool->next_chunk; ++c) {
    const struct zs_chunk *chunk = &pool->chunks[c];
    const struct zs_kind *kind = &pool->kinds[chunk->kind];

    if (chunk->kind == ZSPAGE_CHUNK_FREE)
      continue;
    for (i = 0; i < kind->nr_zspages; ++i) {
      const struct zspage *z =
        zs_desc (pool, chunk->descs + i * zs_kind_stride (kind));
      const struct zs_class *class = &pool->classes[z->class_index];

      if (z->state != ZSPAGE_ACTIVE)
        continue;
      for (n = 0; n < class->objs; ++n) {
        zs_ref ref = zs_first_ref (z) + n * (class->size / ZSPAGE_OBJECT_ALIGN);
        uint32_t owner = 0;

        if (class->is_huge) {
          fn (opaque, ref, z->huge_owner);
          continue;
        }
        if (zspage_object_is_free (z, n))
          continue;
        memcpy (&owner, zs_address (pool, ref), sizeof owner);
        fn (opaque, ref, owner);
      }
    }
  }
  zs_unlock_all (pool);
}
