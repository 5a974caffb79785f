/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device needs done, in slices; see chore.h. */
#include <config.h>

#include <string.h>

#include "chore.h"
#include "zspage-page.h"

void
chore_init (struct chore *chore, struct store *store, struct zs_budget *budget)
{
  memset (chore, 0, sizeof *chore);
  chore->store = store;
  chore->budget = budget;
}

static void
figures_get (const struct chore *chore, struct policy_figures *f)
{
  const struct zs_budget *all = chore->budget;
  struct store_stats s;

  f->all_used = all ? atomic_load (&all->used) : 0;
  f->all_limit = all ? atomic_load (&all->limit) : 0;
  store_stats (chore->store, &s);
  f->pages_stored = s.orig_data_size / ZSPAGE_PAGE_SIZE;
  f->pages_used = s.mem_used_total / ZSPAGE_PAGE_SIZE;
  f->pages_limit = s.mem_limit / ZSPAGE_PAGE_SIZE;
  f->pages_freeable = s.freeable / ZSPAGE_PAGE_SIZE;
  f->pages_stock = s.excess_stock / ZSPAGE_PAGE_SIZE;
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

unsigned
chore_tick (struct chore *chore)
{
  struct policy_figures f;
  struct policy_decision d;

  figures_get (chore, &f);
  d = policy_tick (&chore->policy, &f);
  if (d.trim_stock)
    chore->trimming = true;
  if (d.compact && !chore->compacting)
    compaction_start (chore, f.pages_stored, false);
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
}
