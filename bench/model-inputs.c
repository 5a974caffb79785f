/* SPDX-License-Identifier: BSD-3-Clause */
/* See model-inputs.h.
 *
 * The locks are inside the functions that are timed here, from outside, so each
 * figure is a little more than the time for which the lock is held.  That is CPU
 * time of one thread, so that others on the machine do not count.
 */
#include <config.h>

#include <err.h>
#include <stdlib.h>

#include "engine.h"
#include "model-inputs.h"
#include "random.h"
#include "zspool-internal.h"

#define ROUNDS      5
#define BATCH       64
#define MAX_THREADS 2

static struct engine_pages pages;
static struct codec_pool *codec;

struct worker {
  struct store *store;
  enum model_work work;
  uint64_t rng;
  size_t nr_pages, ops;
};

static void
page_do (struct store *store, enum model_work work, size_t i)
{
  uint8_t out[ZSPAGE_PAGE_SIZE];

  if (work == MODEL_WRITE)
    engine_write (store, i, engine_page (&pages, i));
  else
    engine_read (store, i, out);
}

struct store *
model_store (const char *path, size_t *nr_pages)
{
  struct store *store;
  size_t i;

  engine_pages_load (&pages, path);
  if (pages.nr < 2 * BATCH)
    errx (EXIT_FAILURE, "%s: too few pages", path);
  engine_must (codec_pool_create (CODEC_LZ4, 1, 0, &codec),
               "codec_pool_create");
  store = engine_store (pages.nr, codec, NULL);
  for (i = 0; i < pages.nr; ++i)
    page_do (store, MODEL_WRITE, i);
  *nr_pages = pages.nr;
  return store;
}

void
model_store_destroy (struct store *store)
{
  store_destroy (store);
  codec_pool_destroy (codec);
  free (pages.data);
}

static void
worker_run (void *object)
{
  struct worker *w = object;
  size_t n;

  for (n = 0; n < w->ops; ++n)
    page_do (w->store, w->work, random_next (&w->rng) % w->nr_pages);
}

/* Nanoseconds from start to end of one round. */
static double
run_round (struct store *store, size_t nr_pages, enum model_work work,
           unsigned nr, unsigned round)
{
  struct worker workers[MAX_THREADS];
  unsigned i;

  for (i = 0; i < nr; ++i)
    workers[i] = (struct worker){.store = store,
                                 .work = work,
                                 .rng = (uint64_t) round << 32 | i,
                                 .nr_pages = nr_pages,
                                 .ops = nr_pages / nr};
  return engine_threads_ns (nr, worker_run, workers, sizeof workers[0]);
}

double
model_two_threads (struct store *store, size_t nr_pages, enum model_work work,
                   double waits[SIM_KINDS])
{
  static const enum lock_rank rank_of[] = {
    [SIM_STRIPE] = RANK_SLOT,
    [SIM_CLASS] = RANK_CLASS,
    [SIM_CHUNK] = RANK_CHUNK,
  };
  size_t ops = nr_pages / 2 * 2;
  uint64_t before[SIM_COUNTER];
  double linear[ROUNDS];
  unsigned i;

  for (i = 0; i < SIM_COUNTER; ++i)
    before[i] = ranked_lock_waits (rank_of[i]);
  for (i = 0; i < ROUNDS; ++i) {
    double one = run_round (store, nr_pages, work, 1, i) / nr_pages;

    linear[i] = one / 2 / (run_round (store, nr_pages, work, 2, i) / ops);
  }
  for (i = 0; i < SIM_COUNTER; ++i)
    waits[i] =
      (ranked_lock_waits (rank_of[i]) - before[i]) * 1e6 / (ops * ROUNDS);
  waits[SIM_COUNTER] = 0;
  return engine_median (linear, ROUNDS);
}

static double
time_work (struct store *store, enum model_work work, const uint64_t *order,
           size_t nr)
{
  double start = engine_cpu_ns ();
  size_t i;

  for (i = 0; i < nr; ++i)
    page_do (store, work, order[i]);
  return (engine_cpu_ns () - start) / nr;
}

/* As prefetch_old in write.c. */
static double
time_look (struct store *store, const uint64_t *order, size_t nr)
{
  double start = engine_cpu_ns ();
  size_t i;

  for (i = 0; i < nr; ++i) {
    struct stripe *stripe = slot_lock_present (store, order[i]);
    uint64_t word = slot_get_locked (store, order[i]);

    if (slot_has_object (word))
      zs_prefetch_free (store->pool, slot_ref (word));
    slot_unlock (stripe);
  }
  return (engine_cpu_ns () - start) / nr;
}

/* Each slot's own word again. */
static double
time_publish (struct store *store, const uint64_t *order, size_t nr)
{
  double start = engine_cpu_ns ();
  struct stripe *stripe;
  size_t i;

  for (i = 0; i < nr; ++i) {
    if (slot_lock_for_write (store, order[i], &stripe) < 0)
      errx (EXIT_FAILURE, "slot_lock_for_write");
    slot_publish_locked (store, stripe, order[i],
                         slot_get_locked (store, order[i]));
    slot_unlock (stripe);
  }
  return (engine_cpu_ns () - start) / nr;
}

static double
time_supply (struct store *store, size_t nr)
{
  double start = engine_cpu_ns ();
  struct zspage *z;
  size_t i;

  for (i = 0; i < nr; ++i) {
    if (supply_get (store->pool, ZSPAGE_CHUNK_HUGE, true, &z) < 0)
      errx (EXIT_FAILURE, "supply_get");
    supply_put (store->pool, z);
  }
  return (engine_cpu_ns () - start) / nr / 2;
}

/* An object in place of a page's, which the caller frees. */
static zs_ref
object_make (struct store *store, size_t idx)
{
  zs_ref ref;

  if (zs_malloc (store->pool, slot_len (slot_get_locked (store, idx)), idx,
                 &ref) < 0)
    errx (EXIT_FAILURE, "zs_malloc");
  return ref;
}

/* Have the slot refer to it.  Returns the old one. */
static zs_ref
object_swap (struct store *store, size_t idx, zs_ref ref)
{
  uint64_t word = slot_get_locked (store, idx);
  zs_ref old = slot_ref (word);

  memcpy (zs_map (store->pool, ref), zs_map (store->pool, old),
          slot_len (word));
  zs_set_tag (store->pool, ref, zs_tag (store->pool, old));
  slot_repoint_locked (store, idx, slot_with_ref (word, ref));
  return old;
}

/* Each page's object is replaced by another, in batches, as a clock takes longer
 * than one call.
 */
static void
time_objects (struct store *store, const uint64_t *order, size_t nr,
              double *ns_malloc, double *ns_free)
{
  zs_ref refs[BATCH];
  size_t i, b, batches = nr / BATCH;

  *ns_malloc = *ns_free = 0;
  for (b = 0; b < batches; ++b, order += BATCH) {
    double start = engine_cpu_ns ();

    for (i = 0; i < BATCH; ++i)
      refs[i] = object_make (store, order[i]);
    *ns_malloc += (engine_cpu_ns () - start) / (batches * BATCH);
    for (i = 0; i < BATCH; ++i)
      refs[i] = object_swap (store, order[i], refs[i]);
    start = engine_cpu_ns ();
    for (i = 0; i < BATCH; ++i)
      zs_free (store->pool, refs[i]);
    *ns_free += (engine_cpu_ns () - start) / (batches * BATCH);
  }
}

/* The same in the order of writes, to see what becomes of the pool's counters. */
static void
count_changes (struct store *store, const uint64_t *order, size_t nr,
               struct model_inputs *in)
{
  struct zs_pool *pool = store->pool;
  size_t i, grown = 0, emptied = 0, mallocs = 0, frees = 0;

  for (i = 0; i < nr; ++i) {
    size_t used = pool->pages_used, freeable = pool->freeable_pages;
    zs_ref ref = object_make (store, order[i]);

    grown += pool->pages_used != used;
    mallocs += pool->pages_used != used || pool->freeable_pages != freeable;
    ref = object_swap (store, order[i], ref);
    used = pool->pages_used;
    freeable = pool->freeable_pages;
    zs_free (pool, ref);
    emptied += pool->pages_used != used;
    frees += pool->pages_used != used || pool->freeable_pages != freeable;
  }
  in->grown = (double) grown / nr;
  in->emptied = (double) emptied / nr;
  in->malloc_counts = (double) mallocs / nr;
  in->free_counts = (double) frees / nr;
}

void
model_measure (struct store *store, size_t nr_pages, struct model_inputs *in)
{
  double ns[7][ROUNDS];
  uint64_t *order = engine_shuffled (nr_pages, 1);
  unsigned i;

  for (i = 0; i < ROUNDS; ++i) {
    ns[0][i] = time_look (store, order, nr_pages);
    ns[1][i] = time_publish (store, order, nr_pages);
    time_objects (store, order, nr_pages, &ns[2][i], &ns[3][i]);
    ns[4][i] = time_supply (store, nr_pages);
    ns[5][i] = time_work (store, MODEL_WRITE, order, nr_pages);
    ns[6][i] = time_work (store, MODEL_READ, order, nr_pages);
  }
  in->look = engine_median (ns[0], ROUNDS);
  in->publish = engine_median (ns[1], ROUNDS);
  in->zs_malloc = engine_median (ns[2], ROUNDS);
  in->zs_free = engine_median (ns[3], ROUNDS);
  in->supply = engine_median (ns[4], ROUNDS);
  in->write = engine_median (ns[5], ROUNDS);
  in->read = engine_median (ns[6], ROUNDS);
  count_changes (store, order, nr_pages, in);
  free (order);
}
