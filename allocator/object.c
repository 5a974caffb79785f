/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reference refers to: the object's place, room, tag, and whether it can be
 * one at all.
 */
#include "zspool-internal.h"

static bool
is_huge (const struct zs_pool *pool, zs_ref ref)
{
  return pool->chunks[ref / (ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN)].kind ==
         ZSPAGE_CHUNK_HUGE;
}

void *
zs_map (const struct zs_pool *pool, zs_ref ref)
{
  return zs_address (pool, ref) +
         (is_huge (pool, ref) ? 0 : ZSPAGE_OBJECT_HEADER);
}

void
zs_prefetch_object (const struct zs_pool *pool, zs_ref ref, size_t len)
{
  const uint8_t *p = zs_address (pool, ref), *end = p + len;

  for (; p < end; p += ZSPAGE_CACHE_LINE)
    __builtin_prefetch (p);
}

void
zs_prefetch_free (const struct zs_pool *pool, zs_ref ref)
{
  uint32_t c;
  unsigned i;

  if (!zs_find_zspage (pool, ref, &c, &i))
    return;
  __builtin_prefetch (zs_zspage_at (pool, c, i), 1, 2);
  __builtin_prefetch (zs_address (pool, ref), 0, 2);
}

/* A huge page has no room for its tag. */
static uint8_t *
huge_tag (const struct zs_pool *pool, zs_ref ref)
{
  size_t page = ref / (ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN);

  return &pool->config.records[page / ZSPAGE_CHUNK_PAGES]
            .classes[page % ZSPAGE_CHUNK_PAGES];
}

uint8_t
zs_tag (const struct zs_pool *pool, zs_ref ref)
{
  uint8_t tag;

  if (is_huge (pool, ref))
    return *huge_tag (pool, ref);
  memcpy (&tag, zs_address (pool, ref) + ZSPAGE_OBJECT_TAG, sizeof tag);
  return tag;
}

void
zs_set_tag (struct zs_pool *pool, zs_ref ref, uint8_t tag)
{
  if (is_huge (pool, ref))
    *huge_tag (pool, ref) = tag;
  else
    memcpy (zs_address (pool, ref) + ZSPAGE_OBJECT_TAG, &tag, sizeof tag);
}

size_t
zs_capacity (const struct zs_pool *pool, zs_ref ref)
{
  if (is_huge (pool, ref))
    return ZSPAGE_PAGE_SIZE;
  return pool->classes[zs_zspage_of (pool, ref)->class_index].size -
         ZSPAGE_OBJECT_HEADER;
}

bool
zs_find_zspage (const struct zs_pool *pool, zs_ref ref, uint32_t *chunk,
                unsigned *index)
{
  uint64_t page = ref / (ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN);
  uint64_t c = page / ZSPAGE_CHUNK_PAGES;
  const struct zs_kind *kind;

  if (c >= atomic_load_explicit (&pool->next_chunk, memory_order_acquire) ||
      pool->chunks[c].kind == ZSPAGE_CHUNK_FREE)
    return false;
  kind = &pool->kinds[pool->chunks[c].kind];
  *chunk = c;
  *index = (page % ZSPAGE_CHUNK_PAGES * kind->div) >> 16;
  return *index < kind->nr_zspages;
}

bool
zs_ref_is_plausible (const struct zs_pool *pool, zs_ref ref, size_t len,
                     uint32_t owner)
{
  const struct zs_class *class;
  const struct zspage *z;
  uint32_t c, header;
  unsigned object, i;

  if (len == 0 || len > ZSPAGE_PAGE_SIZE || !zs_find_zspage (pool, ref, &c, &i))
    return false;
  /* Only what belongs to a class is known to have memory. */
  z = zs_zspage_at (pool, c, i);
  if (z->state != ZSPAGE_ACTIVE)
    return false;
  class = &pool->classes[z->class_index];
  object = zspage_object_index (class, z, ref);
  if (object >= class->objs ||
      ref != zs_first_ref (z) + object * (class->size / ZSPAGE_OBJECT_ALIGN))
    return false;
  if (class->is_huge)
    return z->huge_owner == owner;
  if (len > class->size - ZSPAGE_OBJECT_HEADER ||
      zspage_object_is_free (z, object))
    return false;
  memcpy (&header, zs_address (pool, ref), sizeof header);
  return header == owner;
}
