/* SPDX-License-Identifier: BSD-3-Clause */
/* See lock-sim.h.
 *
 * Each core has one event ahead: it comes to a lock, or releases it.  One that
 * waits has none until whoever has the lock releases it.  Waiters queue in the
 * order in which they came.
 */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "lock-sim.h"
#include "random.h"

#define NONE (-1)

struct core {
  double at; /* of its event; INFINITY: it waits */
  bool releases;
  struct sim_op op;
  unsigned step;
  bool waits;  /* or did, for this lock */
  double came; /* to the lock at first */
  int next;    /* in the lock's queue */
  uint64_t rng;
};

struct lock {
  int holder, last, head, tail; /* cores */
};

struct run {
  const struct sim *sim;
  struct core cores[SIM_MAX_CORES];
  struct lock *locks;
  uint64_t waits[SIM_KINDS];
};

double
sim_fraction (uint64_t *rng)
{
  return (random_next (rng) >> 11) * 0x1p-53;
}

static const struct sim_step *
step_of (const struct core *core)
{
  return &core->op.steps[core->step];
}

/* The core goes on at that moment, with the lock. */
static void
take (struct run *run, int c, double at)
{
  struct core *core = &run->cores[c];
  struct lock *lock = &run->locks[step_of (core)->lock];

  core->at = at + step_of (core)->hold;
  if (lock->last != c && lock->last != NONE)
    core->at += run->sim->costs.transfer;
  core->releases = true;
  lock->holder = lock->last = c;
}

static void
enqueue (struct run *run, int c, struct lock *lock)
{
  struct core *core = &run->cores[c];

  core->at = INFINITY;
  core->next = NONE;
  if (lock->head == NONE)
    lock->head = c;
  else
    run->cores[lock->tail].next = c;
  lock->tail = c;
}

static void
arrive (struct run *run, int c)
{
  struct core *core = &run->cores[c];
  unsigned l = step_of (core)->lock;

  if (run->locks[l].holder == NONE) {
    take (run, c, core->at);
    return;
  }
  if (!core->waits) {
    core->waits = true;
    core->came = core->at;
    run->waits[run->sim->kind_of[l]]++;
  }
  enqueue (run, c, &run->locks[l]);
}

static void
hand_over (struct run *run, unsigned l, double now)
{
  const struct sim_costs *costs = &run->sim->costs;
  struct lock *lock = &run->locks[l];
  int c = lock->head;
  struct core *core = &run->cores[c];
  bool sleeps =
    run->sim->kind_of[l] != SIM_COUNTER && now - core->came > costs->spin;

  lock->head = core->next;
  if (sleeps && costs->barging)
    core->at = now + costs->wake;
  else
    take (run, c, now + (sleeps ? costs->wake : 0));
}

static void
op_begin (struct run *run, struct core *core, double now)
{
  run->sim->next_op (run->sim->opaque, &core->rng, &core->op);
  core->step = 0;
  core->waits = core->releases = false;
  core->at = now + step_of (core)->before;
}

/* Whether that ended the operation. */
static bool
release (struct run *run, int c)
{
  struct core *core = &run->cores[c];
  unsigned l = step_of (core)->lock;

  run->locks[l].holder = NONE;
  if (run->locks[l].head != NONE)
    hand_over (run, l, core->at);
  if (++core->step == core->op.nr_steps) {
    op_begin (run, core, core->at);
    return true;
  }
  core->waits = core->releases = false;
  core->at += step_of (core)->before;
  return false;
}

static int
first_event (const struct run *run)
{
  int c, first = 0, nr = run->sim->nr_cores;

  for (c = 1; c < nr; ++c)
    if (run->cores[c].at < run->cores[first].at)
      first = c;
  return first;
}

bool
sim_run (const struct sim *sim, struct sim_result *result)
{
  struct run run = {.sim = sim};
  uint64_t done = 0, rng = sim->seed;
  double now = 0;
  unsigned i;

  run.locks = malloc (sim->nr_locks * sizeof *run.locks);
  if (run.locks == NULL)
    return false;
  for (i = 0; i < sim->nr_locks; ++i)
    run.locks[i] = (struct lock){NONE, NONE, NONE, NONE};
  for (i = 0; i < sim->nr_cores; ++i) {
    run.cores[i].rng = random_next (&rng);
    op_begin (&run, &run.cores[i], 0);
  }
  while (done < sim->nr_ops) {
    int c = first_event (&run);

    now = run.cores[c].at;
    if (!run.cores[c].releases)
      arrive (&run, c);
    else if (release (&run, c))
      done++;
  }
  free (run.locks);
  result->ops_per_ns = done / now;
  for (i = 0; i < SIM_KINDS; ++i)
    result->waits[i] = run.waits[i];
  return true;
}
