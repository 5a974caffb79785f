/* SPDX-License-Identifier: BSD-3-Clause */
/* When to compact, to give back, and to warn; see policy.h.
 *
 * Compaction during a burst of swap-out frees pages that the burst takes right
 * back, so it waits for the end of the burst.  A burst is growth: overwriting,
 * or writing as much as is trimmed, needs no memory and does not count.
 */
#include <config.h>

#include <stdlib.h>

#include "policy.h"

/* Growth of a device in one interval from which on it is a burst: 1 MiB. */
#define BURST_PAGES 256

static const unsigned warn_levels[] = {99, 95, 90};

/* Below this share of the limit, a warning may be said again. */
#define WARN_AGAIN 85

static unsigned
percent_of (uint64_t used, uint64_t limit)
{
  return limit ? used * 100 / limit : 0;
}

/* Whether one of the limits that bind a device is near. */
static bool
is_near (const struct policy_figures *f)
{
  return percent_of (f->pages_used, f->pages_limit) >= POLICY_NEAR_LIMIT ||
         percent_of (f->all_used, f->all_limit) >= POLICY_NEAR_LIMIT;
}

static bool
is_short (const struct policy_figures *f, bool was_short)
{
  unsigned percent = was_short ? POLICY_DENSE_UNTIL : POLICY_DENSE_FROM;

  return percent_of (f->pages_used, f->pages_limit) >= percent ||
         percent_of (f->all_used, f->all_limit) >= percent;
}

unsigned
policy_warning (unsigned *warned, uint64_t used, uint64_t limit)
{
  unsigned percent = percent_of (used, limit), i;

  if (percent < WARN_AGAIN)
    *warned = 0;
  for (i = 0; i < sizeof warn_levels / sizeof warn_levels[0]; ++i) {
    if (percent >= warn_levels[i] && *warned < warn_levels[i]) {
      *warned = warn_levels[i];
      return warn_levels[i];
    }
  }
  return 0;
}

static bool
is_burst (const struct policy_figures *f, uint64_t stored_before)
{
  return f->pages_stored >= stored_before + BURST_PAGES;
}

/* The first time even during a burst, as what comes then is stored for less. */
static bool
is_time_to_train (const struct policy_state *s, const struct policy_figures *f)
{
  bool grown = s->trained_pages &&
               f->pages_coded >= POLICY_TRAIN_GROWTH * s->trained_pages;

  return f->pages_coded >= POLICY_TRAIN_PAGES &&
         (s->now_ms >= s->train_at_ms || grown);
}

/* Whether a pass would find so many pages that were not there to learn from. */
static bool
is_much_new (const struct policy_state *s, const struct policy_figures *f)
{
  uint64_t nr_new = f->pages_open - s->open_low;

  return f->pages_coded >= POLICY_TRAIN_PAGES && nr_new >= POLICY_TRAIN_PAGES &&
         nr_new * 100 >= f->pages_coded * POLICY_TRAIN_NEW;
}

static void
training_begins (struct policy_state *s, const struct policy_figures *f)
{
  s->is_training = true;
  s->trained_pages = f->pages_coded;
  s->open_low = f->pages_open;
  s->train_at_ms = s->now_ms + POLICY_TRAIN_LONGEST_MS; /* until it ended */
}

void
policy_trained (struct policy_state *s, bool won)
{
  s->is_training = false;
  if (won)
    s->train_wait_ms = POLICY_TRAIN_AGAIN_MS;
  else if (s->train_wait_ms == 0)
    s->train_wait_ms = POLICY_TRAIN_VAIN_MS;
  else if (s->train_wait_ms < POLICY_TRAIN_LONGEST_MS)
    s->train_wait_ms *= 2;
  s->train_at_ms = s->now_ms + s->train_wait_ms;
}

void
policy_train_later (struct policy_state *s)
{
  s->is_training = false;
  s->train_at_ms = s->now_ms;
}

void
policy_pass_ended (struct policy_state *s)
{
  s->pass_at_ms = s->now_ms;
}

void
policy_forget (struct policy_state *s)
{
  s->train_at_ms = s->train_wait_ms = s->trained_pages = s->pass_at_ms = 0;
  s->open_low = 0;
  s->is_training = false;
}

/* Not before it is known whether there is a dictionary to do it with. */
static bool
is_time_for_a_pass (const struct policy_state *s,
                    const struct policy_figures *f)
{
  return !s->is_training && s->train_wait_ms > 0 && f->pages_open > 0 &&
         (s->pass_at_ms == 0 || s->now_ms >= s->pass_at_ms + POLICY_PASS_MS);
}

/* To train, or to begin a pass. */
static void
decide_to_learn (struct policy_state *s, const struct policy_figures *f,
                 bool burst, struct policy_decision *d)
{
  bool pass = !burst && is_time_for_a_pass (s, f);

  if (f->pages_open < s->open_low)
    s->open_low = f->pages_open;
  d->train = is_time_to_train (s, f) || (pass && is_much_new (s, f));
  d->recompress = pass && !d->train;
  if (d->train)
    training_begins (s, f);
  if (d->recompress)
    s->pass_at_ms = s->now_ms;
}

struct policy_decision
policy_tick (struct policy_state *state, const struct policy_figures *f)
{
  struct policy_decision d = {0};
  bool burst = !state->has_last || is_burst (f, state->last_stored);

  state->has_last = true;
  state->now_ms += f->elapsed_ms;
  d.dense = state->dense = is_short (f, state->dense);
  decide_to_learn (state, f, burst, &d);
  state->last_stored = f->pages_stored;
  d.warning = policy_warning (&state->warned, f->pages_used, f->pages_limit);
  d.trim_stock = !burst && f->pages_stock > 0;

  if (f->pages_freeable == 0)
    d.reason = POLICY_NOTHING_FREEABLE;
  else if (is_near (f)) {
    d.reason = POLICY_NEAR;
    d.compact = true;
  }
  else if (burst)
    d.reason = POLICY_BURST;
  else {
    d.reason = POLICY_IDLE;
    d.compact = true;
  }
  return d;
}

bool
policy_go_on (const struct policy_figures *f, uint64_t stored_at_start)
{
  if (f->pages_freeable == 0)
    return false;
  return is_near (f) || !is_burst (f, stored_at_start);
}

bool
policy_go_on_recompressing (const struct policy_figures *f,
                            uint64_t stored_at_start)
{
  return f->pages_open > 0 && !is_burst (f, stored_at_start);
}

static int
compare_gain (const void *a, const void *b)
{
  const struct policy_class *x = a, *y = b;
  /* x.freeable / x.copies against y's, without dividing. */
  double gx = (double) x->pages_freeable * (y->copies + 1);
  double gy = (double) y->pages_freeable * (x->copies + 1);

  if (gx != gy)
    return gx > gy ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

void
policy_order (struct policy_class *classes, size_t nr)
{
  qsort (classes, nr, sizeof *classes, compare_gain);
}
