/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects in zspages, and zspages in classes.
 *
 * Each class lists its zspages by their exact number of objects, with a bitmap
 * of the lists that are not empty, so that both the fullest zspage with room
 * and the emptiest are found at once.  Exact counts, not groups of 10%, are
 * what makes compaction copy as little as is possible.
 *
 * Everything here wants class->lock.
 */
#include "zspool-internal.h"

#include "fault-point.h"

void
class_link_locked (struct zs_pool *pool, struct zs_class *class,
                   struct zspage *z)
{
  unsigned n = z->in_use;
  desc_idx idx = zs_desc_idx (pool, z);

  class->counts[n]++;
  if (n == class->objs)
    return; /* full zspages are in no list */
  z->prev = 0;
  z->next = class->by_in_use[n];
  if (z->next)
    zs_desc (pool, z->next)->prev = idx;
  class->by_in_use[n] = idx;
  class->nonempty[n / 64] |= UINT64_C (1) << n % 64;
}

void
class_unlink_locked (struct zs_pool *pool, struct zs_class *class,
                     struct zspage *z)
{
  unsigned n = z->in_use;

  class->counts[n]--;
  if (n == class->objs)
    return;
  if (z->next)
    zs_desc (pool, z->next)->prev = z->prev;
  if (z->prev)
    zs_desc (pool, z->prev)->next = z->next;
  else {
    class->by_in_use[n] = z->next;
    if (z->next == 0)
      class->nonempty[n / 64] &= ~(UINT64_C (1) << n % 64);
  }
}

struct zspage *
class_fullest_locked (struct zs_pool *pool, struct zs_class *class)
{
  int w;

  for (w = class->objs / 64; w >= 0; --w) {
    uint64_t bits = class->nonempty[w];

    if (bits) {
      unsigned n = w * 64 + 63 - __builtin_clzll (bits);

      return zs_desc (pool, class->by_in_use[n]);
    }
  }
  return NULL;
}

struct zspage *
class_emptiest_locked (struct zs_pool *pool, struct zs_class *class)
{
  unsigned w;

  for (w = 0; w <= class->objs / 64u; ++w) {
    uint64_t bits = class->nonempty[w];

    if (bits) {
      unsigned n = w * 64 + __builtin_ctzll (bits);

      return zs_desc (pool, class->by_in_use[n]);
    }
  }
  return NULL;
}

static void
freeable_changed (struct zs_pool *pool, struct zs_class *class, int zspages)
{
  class->freeable += zspages;
  atomic_fetch_add_explicit (&pool->freeable_pages,
                             (size_t) zspages * class->pages,
                             memory_order_release);
}

static void
free_bits_set (struct zspage *z, unsigned word, uint64_t bits)
{
  atomic_store_explicit (&z->free[word], bits, memory_order_relaxed);
}

void
zspage_set_all_free (struct zspage *z, unsigned word, unsigned objs)
{
  unsigned left = objs > word * 64 ? objs - word * 64 : 0;

  free_bits_set (z, word, left >= 64 ? UINT64_MAX : (UINT64_C (1) << left) - 1);
}

void
class_add_locked (struct zs_pool *pool, struct zs_class *class,
                  struct zspage *z)
{
  uint8_t *record_class;
  uint32_t chunk = z->page / ZSPAGE_CHUNK_PAGES;

  assert (z->state == ZSPAGE_BUSY);
  z->state = ZSPAGE_ACTIVE;
  z->class_index = class->index;
  z->in_use = 0;
  if (!class->is_huge) {
    unsigned i, nr_words = pool->kinds[class->kind].words;

    for (i = 0; i < nr_words; ++i)
      zspage_set_all_free (z, i, class->objs);
    /* Recovery must know the class before any object can be published. */
    record_class = &pool->config.records[chunk]
                      .classes[z->page % ZSPAGE_CHUNK_PAGES / class->pages];
    *record_class = class->index + 1;
    FAULT_POINT ("class: zspage added");
  }
  class->nr_zspages++;
  class_link_locked (pool, class, z);
  freeable_changed (pool, class, 1);
}

void
class_remove_locked (struct zs_pool *pool, struct zs_class *class,
                     struct zspage *z)
{
  assert (z->state == ZSPAGE_ACTIVE && z->in_use == 0);
  class_unlink_locked (pool, class, z);
  class->nr_zspages--;
  freeable_changed (pool, class, -1);
  z->state = ZSPAGE_BUSY;
}

unsigned
zspage_object_index (const struct zs_class *class, const struct zspage *z,
                     zs_ref ref)
{
  return ((ref - zs_first_ref (z)) * class->div) >> 24;
}

zs_ref
zspage_take_locked (struct zs_pool *pool, struct zs_class *class,
                    struct zspage *z)
{
  unsigned w = 0, index = 0;

  class_unlink_locked (pool, class, z);
  if (!class->is_huge) {
    uint64_t bits;

    while ((bits = zspage_free_bits (z, w)) == 0)
      ++w;
    index = w * 64 + __builtin_ctzll (bits);
    free_bits_set (z, w, bits & (bits - 1));
  }
  z->in_use++;
  class_link_locked (pool, class, z);

  class->obj_used++;
  if (class->rest == 0) {
    class->rest = class->objs - 1;
    freeable_changed (pool, class, -1);
  }
  else
    class->rest--;
  return zs_first_ref (z) + index * (class->size / ZSPAGE_OBJECT_ALIGN);
}

void
zspage_give_locked (struct zs_pool *pool, struct zs_class *class,
                    struct zspage *z, zs_ref ref)
{
  assert (z->state == ZSPAGE_ACTIVE && z->in_use > 0);
  class_unlink_locked (pool, class, z);
  if (!class->is_huge) {
    unsigned index = zspage_object_index (class, z, ref);
    uint64_t bits = zspage_free_bits (z, index / 64);
    uint64_t bit = UINT64_C (1) << index % 64;

    assert (ref ==
            zs_first_ref (z) + index * (class->size / ZSPAGE_OBJECT_ALIGN));
    assert ((bits & bit) == 0);
    free_bits_set (z, index / 64, bits | bit);
  }
  z->in_use--;
  class_link_locked (pool, class, z);

  class->obj_used--;
  if (++class->rest == class->objs) {
    class->rest = 0;
    freeable_changed (pool, class, 1);
  }
}
