/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a store: summed over its stripes, and asked of the pool, the
 * arena and the codecs.
 */
#include "store-internal.h"

#include "checks.h"

static int64_t
counter (_Atomic int64_t *c)
{
  return atomic_load_explicit (c, memory_order_relaxed);
}

static void
counters_sum (struct store *store, struct store_stats *s)
{
  int64_t pages = 0, compr = 0, same = 0, huge = 0, idle = 0, lz4 = 0,
          settled = 0, lost = 0;
  unsigned i;

  for (i = 0; i < NR_STRIPES; ++i) {
    struct stripe_counters *c = &store->stripes[i].counters;

    pages += counter (&c->pages);
    compr += counter (&c->compr_bytes);
    same += counter (&c->same_pages);
    lz4 += counter (&c->lz4_pages);
    settled += counter (&c->settled_pages);
    huge += counter (&c->huge_pages);
    idle += counter (&c->idle_pages);
    s->huge_pages_since += counter (&c->huge_pages_since);
    s->failed_reads += counter (&c->failed_reads);
    s->failed_writes += counter (&c->failed_writes);
    lost += counter (&c->lost_pages);
  }
  for (i = 0; i <= SLOT_GEN_MAX; ++i) {
    uint64_t needed = 0;

    if (i == 0 || dictionary_of (store, i))
      needed = dictionary_pages (store, i);
    s->zstd_pages += needed;
    s->dictionary_pages += i ? needed : 0;
  }
  /* While pages move between stripes' counts a sum could pass below zero. */
  s->orig_data_size = pages > 0 ? pages * ZSPAGE_PAGE_SIZE : 0;
  s->compr_data_size = compr > 0 ? compr : 0;
  s->same_pages = same > 0 ? same : 0;
  s->huge_pages = huge > 0 ? huge : 0;
  s->idle_pages = idle > 0 ? idle : 0;
  s->lz4_pages = lz4 > 0 ? lz4 : 0;
  s->settled_pages = settled > 0 ? settled : 0;
  s->lost_pages = lost > 0 ? lost : 0;
}

void
store_stats (struct store *store, struct store_stats *s)
{
  struct zs_pool_stats zs;
  uint64_t table;

  memset (s, 0, sizeof *s);
  counters_sum (store, s);
  zs_pool_stats (store->pool, &zs);
  s->mem_used_total = (uint64_t) zs.pages_used * ZSPAGE_PAGE_SIZE;
  s->mem_limit = (uint64_t) zs.pages_limit * ZSPAGE_PAGE_SIZE;
  s->mem_used_max = (uint64_t) zs.pages_used_max * ZSPAGE_PAGE_SIZE;
  s->pages_compacted = zs.pages_compacted;
  s->freeable = (uint64_t) zs.freeable_pages * ZSPAGE_PAGE_SIZE;
  s->excess_stock = zs_excess_stock (store->pool) * ZSPAGE_PAGE_SIZE;
  s->objects_moved = zs.objects_moved;
  s->idle_seconds = store_idle_seconds (store);
  s->dictionary_bytes = atomic_load (&store->dictionary_bytes);
  s->generation = store_generation (store);
  s->recompress_tried = atomic_load (&store->recompressed.tried);
  s->recompress_won = atomic_load (&store->recompressed.won);
  s->recompress_saved = atomic_load (&store->recompressed.saved);
  s->recompress_ns = atomic_load (&store->recompressed.ns);
  s->recompress_seconds = s->recompress_ns / 1000000000;
  s->notify_free =
    atomic_load_explicit (&store->notify_free, memory_order_relaxed);

  s->recovered_pages = store->recovered.pages;
  table = atomic_load_explicit (&store->nr_present, memory_order_relaxed) *
          (1 + checks_pages (store)) * ZSPAGE_PAGE_SIZE;
  if (store->is_saved ||
      atomic_load_explicit (&store->started, memory_order_relaxed))
    table += ZSPAGE_PAGE_SIZE; /* header */
  s->disksize = store->header.disksize;
  s->mem_meta =
    table + zs.meta_bytes + NR_STRIPES * sizeof *store->stripes + sizeof *store;
  s->mem_meta += s->dictionary_bytes + atomic_load (&store->learning_bytes);
  if (store->counts_crew)
    s->mem_meta += crew_bytes (store->crew);
  if (store->counts_codec)
    s->mem_meta += codec_pool_bytes (store->codec);
  if (store->counts_strong && store->dense)
    s->mem_meta += codec_pool_bytes (store->dense);
  if (store->counts_strong && store->strong)
    s->mem_meta += codec_pool_bytes (store->strong);
  s->mem_reserve =
    (uint64_t) (zs.stock_pages + zs.reserve_pages) * ZSPAGE_PAGE_SIZE;
  s->mem_resident = arena_resident (&store->arena);
  if (store->budget) {
    s->total_mem_used =
      (uint64_t) atomic_load (&store->budget->used) * ZSPAGE_PAGE_SIZE;
    s->total_mem_limit =
      (uint64_t) atomic_load (&store->budget->limit) * ZSPAGE_PAGE_SIZE;
  }
}
