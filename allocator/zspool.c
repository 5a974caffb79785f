/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool: creating it, allocating and freeing objects.
 *
 * Allocation takes from the fullest zspage of the class that has room, so that
 * zspages fill up and others drain.  A class grows with its lock dropped.
 */
#include "zspool-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *
reserve_private (size_t bytes)
{
  /* Not writable: the kernel may count what is as used (overcommit_memory). */
  void *p = mmap (NULL, bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  return p == MAP_FAILED ? NULL : p;
}

/* Entries of by_in_use and counts: in lines that no other class has, as other
 * locks guard those.
 */
static size_t
lists_of (const struct zs_size_class *s)
{
  const size_t a_line = ZSPAGE_CACHE_LINE / sizeof (uint32_t);

  return (2 * s->objs + 1 + a_line - 1) / a_line * a_line;
}

static int
classes_init (struct zs_pool *pool)
{
  size_t nr_lists = 0;
  uint32_t *lists;
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (pool->sizes.of[i].merged == i)
      nr_lists += lists_of (&pool->sizes.of[i]);
  if (posix_memalign (&pool->lists, ZSPAGE_CACHE_LINE,
                      nr_lists * sizeof *lists) != 0)
    return -ENOMEM;
  lists = memset (pool->lists, 0, nr_lists * sizeof *lists);

  for (i = 0; i < ZS_NR_SIZES; ++i) {
    const struct zs_size_class *s = &pool->sizes.of[i];
    struct zs_class *class = &pool->classes[i];

    if (s->merged != i)
      continue;
    ranked_lock_init (&class->lock, RANK_CLASS);
    class->index = i;
    class->size = s->size;
    class->objs = s->objs;
    class->pages = s->pages;
    class->is_huge = s->objs == 1;
    class->kind = class->is_huge ? ZSPAGE_CHUNK_HUGE : s->pages;
    class->div = (1u << 24) / (s->size / ZSPAGE_OBJECT_ALIGN) + 1;
    class->by_in_use = lists;
    class->counts = lists + s->objs;
    lists += lists_of (s);
  }
  return 0;
}

/* Address space for the descriptors of nr_chunks chunks, whatever kinds they
 * are.
 */
static size_t
descs_space (const struct zs_pool *pool)
{
  size_t units;

  /* Blocks are kept for their kind, so each kind could use every chunk in
   * turn; twice the most of one kind is more than that takes in practice, and
   * running out of it is -ENOBUFS, not an overflow.
   */
  units =
    2 * pool->descs_most * pool->config.nr_chunks + sizeof (struct zspage);
  if (units > UINT32_MAX)
    units = UINT32_MAX;
  return zspage_align_up (units * 8, 1u << 20);
}

int
zs_pool_create (const struct zs_config *config, struct zs_pool **out)
{
  struct zs_pool *pool;
  int r;

  if (config->nr_chunks == 0 ||
      config->nr_chunks > ZSPAGE_MAX_DATA / ZSPAGE_CHUNK_SIZE)
    return -EINVAL;
  if (posix_memalign ((void **) &pool, ZSPAGE_CACHE_LINE, sizeof *pool) != 0)
    return -ENOMEM;
  memset (pool, 0, sizeof *pool);
  pool->config = *config;

  r = zs_size_classes_init (&pool->sizes, config->chain_size);
  if (r < 0) {
    free (pool);
    return r;
  }
  chunks_init (pool);
  r = classes_init (pool);
  pool->chunks_bytes = zspage_align_up (
    (size_t) config->nr_chunks * sizeof *pool->chunks, ZSPAGE_PAGE_SIZE);
  pool->descs_bytes = descs_space (pool);
  pool->chunks = reserve_private (pool->chunks_bytes);
  pool->descs = reserve_private (pool->descs_bytes);
  if (pool->chunks == NULL || pool->descs == NULL)
    r = -ENOMEM;
  if (r < 0) {
    zs_pool_destroy (pool);
    return r;
  }
  *out = pool;
  return 0;
}

void
zs_pool_destroy (struct zs_pool *pool)
{
  unsigned i;

  if (pool == NULL)
    return;
  zs_uncharge (pool, atomic_load (&pool->pages_used));
  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (pool->classes[i].size != 0)
      ranked_lock_fini (&pool->classes[i].lock);
  ranked_lock_fini (&pool->chunk_lock);
  if (pool->chunks)
    munmap (pool->chunks, pool->chunks_bytes);
  if (pool->descs)
    munmap (pool->descs, pool->descs_bytes);
  free (pool->lists);
  free (pool);
}

size_t
zs_max_payload (const struct zs_pool *pool)
{
  return pool->sizes.huge_size - ZSPAGE_OBJECT_HEADER;
}

size_t
zs_class_bytes (const struct zs_pool *pool, size_t len)
{
  return len > zs_max_payload (pool)
           ? ZSPAGE_PAGE_SIZE
           : pool
               ->classes[zs_size_class_index (&pool->sizes,
                                              len + ZSPAGE_OBJECT_HEADER)]
               .size;
}

void
zs_set_limit (struct zs_pool *pool, size_t pages)
{
  atomic_store_explicit (&pool->pages_limit, pages, memory_order_relaxed);
}

void
zs_set_kept (struct zs_pool *pool, size_t pages)
{
  atomic_store_explicit (&pool->pages_kept, pages, memory_order_relaxed);
}

/* Add pages to *used unless that leaves less than kept pages, or a 16th, of the
 * limit (0 = none).
 */
static bool
add_within (_Atomic size_t *used, size_t pages, const _Atomic size_t *limit_at,
            size_t kept, size_t *now)
{
  size_t limit = atomic_load_explicit (limit_at, memory_order_relaxed);
  size_t was = atomic_load_explicit (used, memory_order_relaxed);

  limit -= kept < limit / 16 ? kept : limit / 16;

  do {
    if (limit != 0 && (was > limit || pages > limit - was))
      return false;
  } while (!atomic_compare_exchange_weak_explicit (
    used, &was, was + pages, memory_order_relaxed, memory_order_relaxed));
  *now = was + pages;
  return true;
}

static void
used_max_raise (struct zs_pool *pool, size_t now)
{
  size_t max =
    atomic_load_explicit (&pool->pages_used_max, memory_order_relaxed);

  while (max < now && !atomic_compare_exchange_weak_explicit (
                        &pool->pages_used_max, &max, now, memory_order_relaxed,
                        memory_order_relaxed))
    ;
}

int
zs_charge (struct zs_pool *pool, size_t pages, size_t kept)
{
  struct zs_budget *budget = pool->config.budget;
  size_t now;

  if (!add_within (&pool->pages_used, pages, &pool->pages_limit, kept, &now))
    return -ENOSPC;
  if (budget) {
    size_t total;

    if (!add_within (&budget->used, pages, &budget->limit, kept, &total)) {
      atomic_fetch_sub_explicit (&pool->pages_used, pages,
                                 memory_order_relaxed);
      return -EDQUOT;
    }
  }

  used_max_raise (pool, now);
  return 0;
}

void
zs_charge_always (struct zs_pool *pool, size_t pages)
{
  size_t now = atomic_fetch_add (&pool->pages_used, pages) + pages;

  if (pool->config.budget)
    atomic_fetch_add (&pool->config.budget->used, pages);
  used_max_raise (pool, now);
}

void
zs_uncharge (struct zs_pool *pool, size_t pages)
{
  atomic_fetch_sub_explicit (&pool->pages_used, pages, memory_order_relaxed);
  if (pool->config.budget)
    atomic_fetch_sub_explicit (&pool->config.budget->used, pages,
                               memory_order_relaxed);
}

void
zs_reset_used_max (struct zs_pool *pool)
{
  atomic_store_explicit (&pool->pages_used_max, atomic_load (&pool->pages_used),
                         memory_order_relaxed);
}

void
zs_reset_counts (struct zs_pool *pool)
{
  zs_reset_used_max (pool);
  atomic_store_explicit (&pool->pages_compacted, 0, memory_order_relaxed);
  atomic_store_explicit (&pool->objects_moved, 0, memory_order_relaxed);
}

static struct zs_class *
class_for (struct zs_pool *pool, size_t len)
{
  size_t size = len + ZSPAGE_OBJECT_HEADER;

  if (size > pool->sizes.huge_size)
    return &pool->classes[ZS_HUGE_INDEX];
  return &pool->classes[zs_size_class_index (&pool->sizes, size)];
}

/* Take an object of z in its class, and write its header. */
static zs_ref
object_take_locked (struct zs_pool *pool, struct zs_class *class,
                    struct zspage *z, uint32_t owner)
{
  zs_ref ref = zspage_take_locked (pool, class, z);

  if (class->is_huge)
    z->huge_owner = owner;
  else
    memcpy (zs_address (pool, ref), &owner, sizeof owner);
  return ref;
}

static size_t
pages_kept (const struct zs_pool *pool)
{
  return atomic_load_explicit (&pool->pages_kept, memory_order_relaxed);
}

/* A zspage for the class, charged and owned by this thread. */
static int
class_grow (struct zs_pool *pool, struct zs_class *class, size_t kept,
            struct zspage **z)
{
  int r = zs_charge (pool, class->pages, kept);

  if (r < 0)
    return r;
  r = supply_get (pool, class->kind, true, z);
  if (r < 0) {
    zs_uncharge (pool, class->pages);
    return r;
  }
  /* There is memory again: what was taken from the reserve is replaced. */
  if (pool->config.ahead_pages == 0 &&
      pool->reserve_pages < pool->config.reserve_pages &&
      atomic_load_explicit (&pool->reserve_was_used, memory_order_relaxed))
    zs_reserve_fill (pool);
  return 0;
}

/* The same of what has memory already; else -EAGAIN. */
static int
class_grow_ready (struct zs_pool *pool, struct zs_class *class, size_t kept,
                  struct zspage **z)
{
  int r = supply_get (pool, class->kind, false, z);

  if (r < 0)
    return r;
  r = zs_charge (pool, class->pages, kept);
  if (r < 0)
    supply_put (pool, *z);
  return r;
}

/* An object of a zspage that has room, if there is one. */
static bool
malloc_in_class (struct zs_pool *pool, struct zs_class *class, uint32_t owner,
                 zs_ref *ref)
{
  struct zspage *z;

  if (class->is_huge)
    return false;
  ranked_lock (&class->lock);
  z = class_fullest_locked (pool, class);
  if (z)
    *ref = object_take_locked (pool, class, z, owner);
  ranked_unlock (&class->lock);
  return z != NULL;
}

/* The first object of a zspage that this thread owns. */
static void
malloc_in_fresh (struct zs_pool *pool, struct zs_class *class,
                 struct zspage *fresh, uint32_t owner, zs_ref *ref)
{
  struct zspage *z;

  ranked_lock (&class->lock);
  /* Others may have grown the class meanwhile: then ours is spare. */
  z = class->is_huge ? NULL : class_fullest_locked (pool, class);
  if (z == NULL) {
    class_add_locked (pool, class, fresh);
    z = fresh;
    fresh = NULL;
  }
  *ref = object_take_locked (pool, class, z, owner);
  ranked_unlock (&class->lock);
  if (fresh) {
    zs_uncharge (pool, class->pages);
    supply_put (pool, fresh);
  }
}

/* No memory is to be had soon: better an object that is too large, from what
 * there is for larger ones, or a page of the reserve, than to wait.
 */
static bool
malloc_elsewhere (struct zs_pool *pool, struct zs_class *class, size_t len,
                  uint32_t owner, zs_ref *ref)
{
  uint32_t without = 1u << class->kind; /* kinds that have no stock */
  struct zspage *fresh;
  unsigned i;

  for (i = class->index + 1; i < ZS_NR_SIZES; ++i) {
    struct zs_class *larger = &pool->classes[i];

    if (larger->size == 0) /* merged with another */
      continue;
    if (malloc_in_class (pool, larger, owner, ref))
      return true;
    if (without >> larger->kind & 1)
      continue;
    if (class_grow_ready (pool, larger, pages_kept (pool), &fresh) == 0) {
      malloc_in_fresh (pool, larger, fresh, owner, ref);
      return true;
    }
    without |= 1u << larger->kind;
  }
  return zs_malloc_reserve (pool, len, owner, ref) == 0;
}

/* A zspage for the class where memory is populated ahead; or, if that may be, in
 * *elsewhere that the object is placed already.
 */
static int
class_grow_ahead (struct zs_pool *pool, struct zs_class *class, size_t len,
                  size_t kept, bool may_be_elsewhere, uint32_t owner,
                  zs_ref *ref, struct zspage **z, bool *elsewhere)
{
  int r = class_grow_ready (pool, class, kept, z);

  if (r != -EAGAIN)
    return r;
  if (supply_is_stuck (pool)) {
    if (!may_be_elsewhere)
      return -ENOMEM;
    *elsewhere = malloc_elsewhere (pool, class, len, owner, ref);
  }
  return *elsewhere ? 0 : class_grow (pool, class, kept, z);
}

static int
malloc_keeping (struct zs_pool *pool, size_t len, size_t kept,
                bool may_be_elsewhere, uint32_t owner, zs_ref *ref)
{
  struct zs_class *class;
  struct zspage *fresh;
  bool elsewhere = false;
  int r;

  if (len == 0 || len > ZSPAGE_PAGE_SIZE)
    return -EINVAL;
  class = class_for (pool, len);
  if (malloc_in_class (pool, class, owner, ref))
    return 0;
  r = pool->config.ahead_pages
        ? class_grow_ahead (pool, class, len, kept, may_be_elsewhere, owner,
                            ref, &fresh, &elsewhere)
        : class_grow (pool, class, kept, &fresh);
  if (r < 0)
    /* Somebody else may have got the last zspage, for this class. */
    return malloc_in_class (pool, class, owner, ref) ? 0 : r;
  if (!elsewhere)
    malloc_in_fresh (pool, class, fresh, owner, ref);
  return 0;
}

int
zs_malloc (struct zs_pool *pool, size_t len, uint32_t owner, zs_ref *ref)
{
  return malloc_keeping (pool, len, pages_kept (pool), true, owner, ref);
}

int
zs_malloc_kept (struct zs_pool *pool, size_t len, uint32_t owner, zs_ref *ref)
{
  return malloc_keeping (pool, len, 0, false, owner, ref);
}

int
zs_malloc_below (struct zs_pool *pool, size_t len, size_t below, uint32_t owner,
                 zs_ref *ref)
{
  unsigned i;

  if (len == 0 || len > ZSPAGE_PAGE_SIZE)
    return -EINVAL;
  for (i = class_for (pool, len)->index + 1;
       i < ZS_NR_SIZES && ZS_MIN_SIZE + i * ZS_SIZE_DELTA < below; ++i)
    if (pool->classes[i].size != 0 &&
        malloc_in_class (pool, &pool->classes[i], owner, ref))
      return 0;
  return -ENOSPC;
}

int
zs_malloc_reserve (struct zs_pool *pool, size_t len, uint32_t owner,
                   zs_ref *ref)
{
  struct zspage *z;
  int r;

  if (len == 0 || len > ZSPAGE_PAGE_SIZE)
    return -EINVAL;
  r = zs_charge (pool, 1, 0);
  if (r < 0)
    return r;
  z = supply_get_reserve (pool);
  if (z == NULL) {
    zs_uncharge (pool, 1);
    return -ENOMEM;
  }
  atomic_store_explicit (&pool->reserve_was_used, true, memory_order_relaxed);
  malloc_in_fresh (pool, &pool->classes[ZS_HUGE_INDEX], z, owner, ref);
  return 0;
}

void
zs_free (struct zs_pool *pool, zs_ref ref)
{
  struct zspage *z = zs_zspage_of (pool, ref);
  struct zs_class *class = &pool->classes[z->class_index];
  bool empty;

  ranked_lock (&class->lock);
  zspage_give_locked (pool, class, z, ref);
  empty = z->in_use == 0;
  if (empty) {
    zs_uncharge (pool, class->pages);
    class_remove_locked (pool, class, z);
  }
  ranked_unlock (&class->lock);
  if (empty)
    supply_put (pool, z);
}

size_t
zs_compacted_pages (const struct zs_pool *pool)
{
  return atomic_load_explicit (&pool->pages_compacted, memory_order_acquire);
}

size_t
zs_freeable_pages (const struct zs_pool *pool)
{
  return atomic_load_explicit (&pool->freeable_pages, memory_order_acquire);
}
