/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device needs done, in slices; see chore.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chore.h"
#include "zspage-page.h"

/* Pages in a slice: of a sample, which takes about 10 us each; and of
 * recompression, which takes about 50.
 */
#define SAMPLE_STEP     16u
#define RECOMPRESS_STEP 4u
/* What is large. */
#define LARGE_BYTES (ZSPAGE_PAGE_SIZE / 2)

void
chore_init (struct chore *chore, struct store *store, bool has_dictionaries,
            const struct chore_config *config)
{
  memset (chore, 0, sizeof *chore);
  chore->store = store;
  chore->has_dictionaries = has_dictionaries;
  chore->config = *config;
}

void
chore_fini (struct chore *chore)
{
  free (chore->sample);
  chore->sample = NULL;
}

static void
figures_get (const struct chore *chore, struct policy_figures *f)
{
  const struct zs_budget *all = chore->config.budget;
  struct store_stats s;

  f->all_used = all ? atomic_load (&all->used) : 0;
  f->all_limit = all ? atomic_load (&all->limit) : 0;
  store_stats (chore->store, &s);
  f->pages_stored = s.orig_data_size / ZSPAGE_PAGE_SIZE;
  f->pages_used = s.mem_used_total / ZSPAGE_PAGE_SIZE;
  f->pages_limit = s.mem_limit / ZSPAGE_PAGE_SIZE;
  f->pages_freeable = s.freeable / ZSPAGE_PAGE_SIZE;
  f->pages_stock = s.excess_stock / ZSPAGE_PAGE_SIZE;
  f->pages_coded = s.lz4_pages + s.zstd_pages;
  f->pages_open = f->pages_coded + s.huge_pages;
  f->pages_open -=
    s.settled_pages < f->pages_open ? s.settled_pages : f->pages_open;
  f->elapsed_ms = chore->config.interval_ms;
}

/* What freeing the freeable zspages of a class takes: they are the emptiest,
 * so at most as many copies as the average zspage that is not full has
 * objects.
 */
static uint64_t
copies_estimate (const struct zs_class_stats *c)
{
  uint64_t zspages = c->pages_used / c->pages_per_zspage;
  uint64_t full = c->groups[ZS_NR_GROUPS - 1];
  uint64_t objs = zspages ? c->obj_allocated / zspages : 0;

  if (zspages == full)
    return 0;
  return c->freeable / c->pages_per_zspage * (c->obj_used - full * objs) /
         (zspages - full);
}

static void
compaction_start (struct chore *chore, uint64_t stored, bool forced)
{
  struct zs_class_stats c;
  unsigned i;

  chore->nr_order = chore->next_order = 0;
  for (i = 0; i < ZS_NR_SIZES; ++i) {
    if (!store_class_stats (chore->store, i, &c) || c.freeable == 0)
      continue;
    chore->order[chore->nr_order++] = (struct policy_class){
      .index = i,
      .pages_freeable = c.freeable,
      .copies = copies_estimate (&c),
    };
  }
  policy_order (chore->order, chore->nr_order);
  chore->stored_at_start = stored;
  chore->forced = forced;
  chore->compacting = chore->nr_order > 0;
}

static void
sample_start (struct chore *chore)
{
  chore->sample = malloc ((size_t) TRAINER_PAGES * ZSPAGE_PAGE_SIZE);
  chore->nr_sample = chore->nr_probed = 0;
  chore->sample_is_ready = false;
  if (chore->sample == NULL)
    policy_trained (&chore->policy, false);
}

static void
pass_end (struct chore *chore)
{
  chore->recompressing = false;
  store_recompress_end (chore->store);
}

static void
pass_start (struct chore *chore, uint64_t stored)
{
  chore->recompressing = store_recompress_begin (chore->store) == 0;
  chore->small_too = false;
  chore->recompress_at = 0;
  chore->stored_at_pass = stored;
}

static void
dictionary_tick (struct chore *chore, const struct policy_decision *d,
                 uint64_t stored)
{
  int64_t credit =
    INT64_C (10000) * chore->config.interval_ms * chore->config.recompress_cpu;

  store_dictionaries_reap (chore->store);
  store_set_dense (chore->store, d->dense);
  if (d->train && chore->sample == NULL)
    sample_start (chore);
  /* What was overdrawn is paid back first; nothing is saved up. */
  chore->credit_ns = chore->credit_ns < 0 ? chore->credit_ns + credit : credit;
  if (d->recompress && !chore->recompressing && chore->sample == NULL &&
      credit > 0)
    pass_start (chore, stored);
}

/* The store was reset: what was learnt is of no use, and the store has forgotten
 * its dictionaries.  But who trains may be looking at the sample.
 */
static void
forget (struct chore *chore)
{
  if (chore->sample && chore->sample_is_ready)
    return;
  free (chore->sample);
  chore->sample = NULL;
  chore->resets = store_resets (chore->store);
  if (chore->recompressing)
    pass_end (chore);
  policy_forget (&chore->policy);
}

void
chore_trained (struct chore *chore, struct dictionary *dictionary)
{
  free (chore->sample);
  chore->sample = NULL;
  if (chore->resets != store_resets (chore->store)) {
    dictionary_destroy (dictionary);
    forget (chore);
    return;
  }
  policy_trained (&chore->policy, dictionary != NULL);
  if (dictionary == NULL)
    return;
  if (chore->recompressing)
    pass_end (chore);
  if (store_dictionary_add (chore->store, dictionary) < 0)
    dictionary_destroy (dictionary);
}

/* The pages wanted are spread over the device by a sequence that repeats none
 * of its 2^64 numbers, and is even.
 */
static void
sample_slice (struct chore *chore)
{
  unsigned i;

  for (i = 0; i < SAMPLE_STEP && chore->nr_sample < TRAINER_PAGES; ++i) {
    uint8_t *page = chore->sample + chore->nr_sample * ZSPAGE_PAGE_SIZE;

    chore->probe += UINT64_C (0x9e3779b97f4a7c15);
    chore->nr_probed++;
    if (store_sample (chore->store, chore->probe >> 16, page))
      chore->nr_sample++;
  }
  chore->sample_is_ready =
    chore->nr_sample == TRAINER_PAGES || chore->nr_probed >= 2 * TRAINER_PAGES;
}

static int64_t
thread_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * INT64_C (1000000000) + now.tv_nsec;
}

/* A pass is in two halves: large objects first, as they gain most, and then all
 * of them.
 */
static void
recompress_slice (struct chore *chore)
{
  struct store_recompress how = {.which = STORE_RECOMPRESS_OLD,
                                 .threshold = LARGE_BYTES};
  int64_t began = thread_ns ();
  struct policy_figures f;
  unsigned n = RECOMPRESS_STEP;

  figures_get (chore, &f);
  if (!policy_go_on_recompressing (&f, chore->stored_at_pass)) {
    pass_end (chore);
    return;
  }
  if (chore->small_too) {
    how.which |= STORE_RECOMPRESS_AGES;
    how.threshold = 0;
  }
  if (!store_recompress_slice (chore->store, &how, &chore->recompress_at, &n)) {
    if (chore->small_too)
      pass_end (chore);
    chore->small_too = true;
    chore->recompress_at = 0;
  }
  chore->credit_ns -= thread_ns () - began;
}

unsigned
chore_tick (struct chore *chore)
{
  struct policy_figures f;
  struct policy_decision d;

  if (chore->has_dictionaries && chore->resets != store_resets (chore->store))
    forget (chore);
  figures_get (chore, &f);
  d = policy_tick (&chore->policy, &f);
  if (d.trim_stock)
    chore->trimming = true;
  if (d.compact && !chore->compacting)
    compaction_start (chore, f.pages_stored, false);
  if (chore->has_dictionaries)
    dictionary_tick (chore, &d, f.pages_stored);
  return d.warning;
}

void
chore_begin (struct chore *chore, enum chore_job job)
{
  if (job == JOB_COMPACT) {
    compaction_start (chore, 0, true);
    return;
  }
  chore->walking[job] = true;
  chore->walk_at[job] = 0;
}

static void
compact_slice (struct chore *chore)
{
  struct policy_figures f;
  bool more;

  figures_get (chore, &f);
  if (!chore->forced && !policy_go_on (&f, chore->stored_at_start)) {
    chore->compacting = false;
    return;
  }
  store_compact_slice (chore->store, chore->order[chore->next_order].index,
                       &more);
  if (more)
    return;
  if (++chore->next_order == chore->nr_order) {
    chore->compacting = false;
    chore->trimming = true; /* what it freed is stock now */
  }
}

void
chore_slice (struct chore *chore)
{
  if (chore->walking[JOB_RESET])
    chore->walking[JOB_RESET] =
      store_reset_slice (chore->store, &chore->walk_at[JOB_RESET]);
  else if (chore->walking[JOB_IDLE])
    chore->walking[JOB_IDLE] =
      store_mark_idle_slice (chore->store, &chore->walk_at[JOB_IDLE]);
  else if (chore->compacting)
    compact_slice (chore);
  else if (chore->trimming)
    chore->trimming = store_trim_stock_slice (chore->store);
  else if (chore->sample && !chore->sample_is_ready)
    sample_slice (chore);
  else if (chore->recompressing && chore->credit_ns > 0)
    recompress_slice (chore);
}
