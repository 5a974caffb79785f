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

static void
sample_drop (struct chore *chore)
{
  if (chore->sample == NULL)
    return;
  free (chore->sample);
  chore->sample = NULL;
  --*chore->config.nr_samples;
  store_count_learning (chore->store, 0);
}

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
  sample_drop (chore);
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
  if (chore->sample == NULL) {
    policy_trained (&chore->policy, false);
    return;
  }
  ++*chore->config.nr_samples;
  store_count_learning (chore->store, TRAINER_BYTES);
  chore->nr_sample = chore->nr_probed = 0;
  chore->sampler = (struct store_sampler){0};
  chore->sample_is_ready = false;
}

static bool
is_recompressing (const struct chore *chore)
{
  return chore->recompressing || chore->walking[JOB_RECOMPRESS];
}

static void
pass_end (struct chore *chore)
{
  chore->recompressing = false;
  policy_pass_ended (&chore->policy);
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

/* While memory is short, a writer may need to recompress, and should not have to
 * ask for memory for that.
 */
static void
digest_tick (struct chore *chore, bool is_short)
{
  if (is_recompressing (chore))
    return;
  if (is_short)
    store_recompress_begin (chore->store);
  else
    store_recompress_end (chore->store);
}

static void
dictionary_tick (struct chore *chore, const struct policy_decision *d,
                 uint64_t stored)
{
  int64_t credit =
    INT64_C (10000) * chore->config.interval_ms * chore->config.recompress_cpu;

  /* Who trains looks at the newest, which a reset may have made an old one. */
  if (!(chore->sample && chore->sample_is_ready))
    store_dictionaries_reap (chore->store);
  digest_tick (chore, d->dense);
  store_set_dense (chore->store, d->dense);
  if (d->train && chore->sample == NULL) {
    if (*chore->config.nr_samples == 0)
      sample_start (chore);
    else
      policy_train_later (&chore->policy);
  }
  /* What was overdrawn is paid back first; nothing is saved up. */
  chore->credit_ns = chore->credit_ns < 0 ? chore->credit_ns + credit : credit;
  if (d->recompress && !is_recompressing (chore) && chore->sample == NULL &&
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
  sample_drop (chore);
  chore->resets = store_resets (chore->store);
  if (chore->recompressing)
    pass_end (chore);
  policy_forget (&chore->policy);
}

bool
chore_trained (struct chore *chore, struct dictionary *dictionary)
{
  bool is_new = false;

  sample_drop (chore);
  if (chore->resets != store_resets (chore->store)) {
    dictionary_destroy (dictionary);
    forget (chore);
    return false;
  }
  if (dictionary) {
    if (chore->recompressing)
      pass_end (chore);
    is_new = store_dictionary_add (chore->store, dictionary) == 0;
    if (!is_new)
      dictionary_destroy (dictionary);
  }
  policy_trained (&chore->policy, is_new);
  /* What somebody ordered goes on, with the new one. */
  if (dictionary && chore->walking[JOB_RECOMPRESS] &&
      store_recompress_begin (chore->store) < 0)
    chore->walking[JOB_RECOMPRESS] = false;
  return is_new;
}

/* Twice as many places as pages are wanted are looked at, as there may be none at
 * some: every other place first, and those between if pages are lacking.
 */
static void
sample_slice (struct chore *chore)
{
  unsigned i, at;

  for (i = 0; i < SAMPLE_STEP && chore->nr_sample < TRAINER_PAGES &&
              chore->nr_probed < 2 * TRAINER_PAGES;
       ++i) {
    uint8_t *page = chore->sample + chore->nr_sample * ZSPAGE_PAGE_SIZE;

    at = 2 * chore->nr_probed;
    if (chore->nr_probed >= TRAINER_PAGES)
      at -= 2 * TRAINER_PAGES - 1;
    if (chore->nr_probed == TRAINER_PAGES)
      chore->sampler = (struct store_sampler){0};
    chore->nr_probed++;
    if (store_sample (chore->store, &chore->sampler, at, 2 * TRAINER_PAGES,
                      page))
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
chore_begin (struct chore *chore, const struct chore_order *order)
{
  enum chore_job job = order->job;

  if (job == JOB_COMPACT)
    compaction_start (chore, 0, true);
  else if (job == JOB_TRAIN && chore->sample == NULL)
    sample_start (chore);
  if (job == JOB_COMPACT || job == JOB_TRAIN)
    return;
  chore->walking[job] = true;
  chore->walk_at[job] = 0;
  if (job == JOB_RECOMPRESS) {
    chore->recompressing = false;
    chore->by_hand = order->how;
    chore->by_hand_left = order->max_pages;
    if (store_recompress_begin (chore->store) < 0)
      chore->walking[job] = false;
  }
}

/* As fast as it goes, as somebody waits for it. */
static void
by_hand_slice (struct chore *chore)
{
  unsigned n = RECOMPRESS_STEP;
  bool more;

  if (n > chore->by_hand_left)
    n = chore->by_hand_left;
  more = store_recompress_slice (chore->store, &chore->by_hand,
                                 &chore->walk_at[JOB_RECOMPRESS], &n);
  chore->by_hand_left -= n;
  if (more && chore->by_hand_left > 0)
    return;
  chore->walking[JOB_RECOMPRESS] = false;
  store_recompress_end (chore->store);
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
  else if (chore->walking[JOB_RECOMPRESS])
    by_hand_slice (chore);
  else if (chore->recompressing && chore->credit_ns > 0)
    recompress_slice (chore);
}
