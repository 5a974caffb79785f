/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating a store, starting it at its first write, moving its objects when
 * the pool compacts, and its figures.
 */
#include "store-internal.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checks.h"
#include "fault-point.h"
#include "layout.h"
#include "recover.h"

/* To populate a batch ahead takes about a millisecond.  What has missed memory
 * for so long will not have it soon.
 */
#define FEED_PATIENCE_MS 20u

/* The most stock given back in one go: some milliseconds. */
#define TRIM_STEP_PAGES 512u
/* Kept back of a limit, so that what is recompressed at it has a place: zspages
 * of some classes.
 */
#define RECOMPRESS_PAGES 64u

static int
os_populate (void *opaque, void *addr, size_t len)
{
  return arena_populate (opaque, addr, len);
}

static int
os_release (void *opaque, void *addr, size_t len)
{
  return arena_release (opaque, addr, len);
}

static bool
os_next_memory (void *opaque, const void *from, const void *end, void **start,
                size_t *len)
{
  return arena_next_memory (opaque, from, end, start, len);
}

/* zs_config.relocate.  compact_lock and a class are locked, so the
 * slot is only tried.
 */
static int
relocate (void *opaque, uint32_t owner, zs_ref from, zs_ref to, const void *src,
          void *dst, size_t len)
{
  struct store *store = opaque;
  struct stripe *stripe;
  uint64_t word;
  int r = -EBUSY;

  if (owner >= store->nr_pages)
    return -EBUSY;
  stripe = stripe_of (store, owner);
  if (!ranked_trylock (&stripe->lock)) {
    store->busy_stripe = stripe;
    return -EBUSY;
  }
  if (table_is_present (store, table_page_of (owner))) {
    word = slot_get_locked (store, owner);
    if (slot_has_object (word) && slot_ref (word) == from) {
      memcpy (dst, src, len);
      FAULT_POINT ("compact: object copied");
      slot_repoint_locked (store, owner, slot_with_ref (word, to));
      FAULT_POINT ("compact: slot repointed");
      r = 0;
    }
  }
  slot_unlock (stripe);
  return r;
}

static int
pool_init (struct store *store, const struct store_config *config)
{
  const struct zspage_header *h = &store->header;
  struct zs_config zs = {
    .chain_size = h->chain_size,
    .nr_chunks = h->nr_chunks,
    .records = (void *) (store->arena.base + h->records_offset),
    .data = store->arena.base + h->data_offset,
    .reserve_pages = config->reserve_pages,
    /* The chain lengths and the huge pages share it. */
    .ahead_pages = (store->ahead_pages + h->chain_size) / (h->chain_size + 1),
    .patience_ms = FEED_PATIENCE_MS,
    .hungry = config->hungry,
    .hungry_opaque = config->hungry_opaque,
    .budget = config->budget,
    .os = {.opaque = &store->arena,
           .populate = os_populate,
           .release = os_release,
           .next_memory = os_next_memory},
    .relocate = relocate,
    .relocate_opaque = store,
  };
  int r = zs_pool_create (&zs, &store->pool);

  if (r < 0)
    return r;
  store_set_mem_limit (store, config->mem_limit);
  if (store->strong)
    zs_set_kept (store->pool, RECOMPRESS_PAGES);
  return 0;
}

/* More than can ever be used is no use. */
static size_t
ahead_pages (const struct store_config *config)
{
  uint64_t most = config->disksize;

  if (config->mem_limit && config->mem_limit < most)
    most = config->mem_limit;
  most /= ZSPAGE_PAGE_SIZE;
  return config->ahead_pages < most ? config->ahead_pages : most;
}

/* Address space for the presence bits; touched where the table is used. */
static size_t
present_bytes (const struct store *store)
{
  return zspage_align_up ((store->nr_table_pages + 63) / 64 * 8,
                          ZSPAGE_PAGE_SIZE);
}

static int
locks_init (struct store *store)
{
  unsigned i;

  if (posix_memalign ((void **) &store->stripes, ZSPAGE_CACHE_LINE,
                      NR_STRIPES * sizeof *store->stripes) != 0)
    return -ENOMEM;
  memset (store->stripes, 0, NR_STRIPES * sizeof *store->stripes);
  for (i = 0; i < NR_STRIPES; ++i)
    ranked_lock_init (&store->stripes[i].lock, RANK_SLOT);
  ranked_lock_init (&store->recompress_lock, RANK_RECOMPRESS);
  ranked_lock_init (&store->table_lock, RANK_TABLE);
  ranked_lock_init (&store->compact_lock, RANK_ROOM);
  ranked_lock_init (&store->bounce_lock, RANK_ROOM);
  return 0;
}

/* The mapping, and where its parts are. */
static int
arena_init (struct store *store, const struct store_config *config)
{
  struct zspage_header *h = &store->header;
  int fd = -1, r = 0;

  if (config->file) {
    *h = config->file->header;
    fd = config->file->fd;
    store->is_saved = true;
  }
  else
    r =
      layout_init (h, config->disksize, config->chain_size, config->has_checks);
  if (r == 0)
    r = arena_create (&store->arena, fd, config->is_look, config->name,
                      h->file_bytes, config->is_locked,
                      config->ops ? config->ops : &arena_libc_ops,
                      config->headroom);
  if (r < 0)
    return r;
  store->slots = (void *) (store->arena.base + h->table_offset);
  if (h->features & ZSPAGE_FEATURE_CHECKS)
    store->checks = (void *) (store->arena.base + h->checks_offset);
  return 0;
}

/* The header in the file, of a store that is saved. */
static struct zspage_header *
saved_header (struct store *store)
{
  return (void *) store->arena.base;
}

/* After recovery, which looks at what the last owner left; and after a fork. */
static void
own (struct store *store)
{
  struct zspage_header *h = saved_header (store);

  if (!store->is_saved || store->arena.is_private)
    return;
  h->pid = getpid ();
  h->was_closed = 0;
}

static void
disown (struct store *store)
{
  struct zspage_header *h = saved_header (store);

  if (!store->is_saved || store->arena.is_private)
    return;
  h->pid = 0;
  fsync (store->arena.fd); /* of a disk */
  __atomic_store_n (&h->was_closed, 1, __ATOMIC_RELEASE);
}

void
store_set_pid (struct store *store)
{
  own (store);
}

void
store_map (struct store *store)
{
  const uint8_t *from = store->arena.base;
  void *start;
  size_t len;

  while (arena_next_memory (&store->arena, from,
                            store->arena.base + store->arena.bytes, &start,
                            &len)) {
    arena_map (&store->arena, start, len);
    from = (const uint8_t *) start + len;
  }
}

bool
store_is_saved (const struct store *store)
{
  return store->is_saved;
}

struct store_recovered
store_recovered (const struct store *store)
{
  return store->recovered;
}

bool
store_has_checks (const struct store *store)
{
  return checks_are_kept (store);
}

static void
destroy (struct store *store)
{
  unsigned i;

  for (i = 0; i <= SLOT_GEN_MAX; ++i)
    dictionary_destroy (atomic_load (&store->dictionaries[i]));
  zs_pool_destroy (store->pool);
  for (i = 0; i < NR_STRIPES; ++i)
    ranked_lock_fini (&store->stripes[i].lock);
  ranked_lock_fini (&store->recompress_lock);
  ranked_lock_fini (&store->table_lock);
  ranked_lock_fini (&store->compact_lock);
  ranked_lock_fini (&store->bounce_lock);
  free (store->stripes);
  munmap (store->present, present_bytes (store));
  arena_destroy (&store->arena);
  free (store);
}

/* What is borrowed, and what follows from the layout. */
static void
config_take (struct store *store, const struct store_config *config)
{
  store->codec = config->codec;
  store->dense = config->dense;
  store->strong = config->strong;
  atomic_store (&store->writes_with, store->codec);
  store->counts_codec = config->counts_codec;
  store->counts_strong = config->counts_strong;
  store->crew = config->crew;
  store->counts_crew = config->counts_crew;
  store->budget = config->budget;
  store->room_elsewhere = config->room_elsewhere;
  store->room_opaque = config->room_opaque;
  store->reads_need_ctx =
    codec_decompress_needs_ctx (codec_pool_id (config->codec));
  store->nr_pages = store->header.disksize / ZSPAGE_PAGE_SIZE;
  store->nr_table_pages =
    (store->nr_pages + SLOTS_PER_TABLE_PAGE - 1) / SLOTS_PER_TABLE_PAGE;
  store->ahead_pages = ahead_pages (config);
  store->hungry = config->hungry;
  store->hungry_opaque = config->hungry_opaque;
  store->table_stays = store->nr_table_pages <= store->ahead_pages;
}

/* What the file has; and memory for writing, not at the first write, for which
 * clients wait.  What cannot be had now is asked for then.
 */
static int
file_take (struct store *store, const struct store_config *config)
{
  int r;

  if (config->file == NULL)
    return 0;
  store->recovered.is_new = config->file->is_new;
  if (config->file->is_new)
    return 0;
  r = store_recover (store, config);
  if (r == 0 && !config->is_look && store->recovered.pages > 0)
    store_start (store);
  return r;
}

int
store_create (const struct store_config *config, struct store **out)
{
  struct store *store = calloc (1, sizeof *store);
  int r;

  if (store == NULL) {
    if (config->file)
      close (config->file->fd);
    return -ENOMEM;
  }
  r = arena_init (store, config);
  if (r < 0)
    goto err_free;
  config_take (store, config);
  store->present = mmap (NULL, present_bytes (store), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (store->present == MAP_FAILED) {
    r = -ENOMEM;
    goto err_arena;
  }
  r = locks_init (store);
  if (r < 0)
    goto err_present;
  r = pool_init (store, config);
  if (r < 0)
    goto err_locks;
  r = file_take (store, config);
  if (r < 0) {
    destroy (store);
    return r;
  }
  own (store);
  *out = store;
  return 0;

err_locks:
  free (store->stripes);
err_present:
  munmap (store->present, present_bytes (store));
err_arena:
  arena_destroy (&store->arena);
err_free:
  free (store);
  return r;
}

void
store_destroy (struct store *store)
{
  if (store == NULL)
    return;
  disown (store);
  destroy (store);
}

/* What cannot be had now, whoever needs it asks for again. */
static void
start_ahead_locked (struct store *store)
{
  bool more;

  if (store->table_stays)
    table_populate_all_locked (store);
  while (zs_feed (store->pool, &more) == 0 && more)
    ;
  if (store->hungry)
    store->hungry (store->hungry_opaque);
}

int
store_feed (struct store *store, bool *more)
{
  *more = false;
  if (!atomic_load_explicit (&store->started, memory_order_acquire))
    return 0;
  return zs_feed (store->pool, more);
}

/* A page is decompressed with its slot locked, which others wait for while the
 * kernel finds memory.
 */
static void
codecs_warm (struct store *store)
{
  codec_pool_warm (store->codec, store->strong != NULL);
  if (store->dense)
    codec_pool_warm (store->dense, true);
  if (store->strong)
    codec_pool_warm (store->strong, true);
  if (store->crew)
    crew_warm (store->crew);
}

int
store_start (struct store *store)
{
  int r;

  if (atomic_load_explicit (&store->started, memory_order_acquire))
    return 0;
  if (store->ahead_pages)
    codecs_warm (store);
  ranked_lock (&store->table_lock);
  r = 0;
  if (!atomic_load_explicit (&store->started, memory_order_relaxed)) {
    r = arena_populate (&store->arena, store->arena.base, ZSPAGE_PAGE_SIZE);
    if (r == 0)
      r = zs_reserve_fill (store->pool);
    if (r == 0)
      r = zs_bounce (store->pool, &store->bounce);
    if (r == 0) {
      if (store->ahead_pages)
        start_ahead_locked (store);
      if (!store->is_saved)
        memcpy (store->arena.base, &store->header, sizeof store->header);
      atomic_store_explicit (&store->started, true, memory_order_release);
    }
  }
  ranked_unlock (&store->table_lock);
  return r < 0 ? -ENOSPC : 0;
}

uint64_t
store_disksize (const struct store *store)
{
  return store->header.disksize;
}

int
store_dictionary_level (const struct store *store)
{
  const struct codec_pool *pool = store->dense ? store->dense : store->codec;

  /* lz4 only reads what somebody else compressed with one. */
  return codec_pool_id (pool) == CODEC_ZSTD ? codec_pool_level (pool)
                                            : codec_levels (CODEC_ZSTD).dflt;
}

int
store_strong_level (const struct store *store)
{
  return store->strong ? codec_pool_level (store->strong)
                       : store_dictionary_level (store);
}

void
store_set_dense (struct store *store, bool dense)
{
  atomic_store (&store->writes_with,
                dense && store->dense ? store->dense : store->codec);
}

bool
store_is_dense (const struct store *store)
{
  return atomic_load (&store->writes_with) != store->codec;
}

size_t
store_compact (struct store *store)
{
  size_t pages;

  ranked_lock (&store->compact_lock);
  pages = zs_compact (store->pool);
  ranked_unlock (&store->compact_lock);
  return pages;
}

size_t
store_compact_slice (struct store *store, unsigned class_index, bool *more)
{
  size_t pages;

  ranked_lock (&store->compact_lock);
  pages = zs_compact_slice (store->pool, class_index, more);
  ranked_unlock (&store->compact_lock);
  return pages;
}

bool
store_trim_stock_slice (struct store *store)
{
  size_t excess = zs_excess_stock (store->pool);

  if (excess == 0)
    return false;
  zs_trim_excess (store->pool, TRIM_STEP_PAGES);
  /* Not, for ever, what the kernel does not take. */
  return excess > TRIM_STEP_PAGES && zs_excess_stock (store->pool) < excess;
}

void
store_set_mem_limit (struct store *store, uint64_t bytes)
{
  uint64_t pages = bytes / ZSPAGE_PAGE_SIZE + (bytes % ZSPAGE_PAGE_SIZE != 0);

  zs_set_limit (store->pool, pages);
}

void
store_reset_mem_used_max (struct store *store)
{
  zs_reset_used_max (store->pool);
}

size_t
store_class_bytes (const struct store *store, size_t len)
{
  return zs_class_bytes (store->pool, len);
}

bool
store_class_stats (struct store *store, unsigned class_index,
                   struct zs_class_stats *stats)
{
  return zs_class_stats (store->pool, class_index, stats);
}
