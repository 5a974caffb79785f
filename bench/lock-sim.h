/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores that do operations one after the other, and queue for locks: a
 * discrete-event simulation.  Times are in nanoseconds.
 */
#ifndef LOCK_SIM_H
#define LOCK_SIM_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_MAX_CORES 64
#define SIM_MAX_STEPS 8

enum sim_kind {
  SIM_STRIPE,
  SIM_CLASS,
  SIM_CHUNK,
  SIM_COUNTER, /* a cache line that all write; who waits for it does not sleep */
  SIM_KINDS,
};

/* Work with no lock, then work with one. */
struct sim_step {
  unsigned lock;
  double before, hold;
};

struct sim_op {
  unsigned nr_steps; /* 1..SIM_MAX_STEPS */
  struct sim_step steps[SIM_MAX_STEPS];
};

/* What a lock costs beyond the work that is done with it. */
struct sim_costs {
  double transfer; /* to who takes it, if another core had it last */
  double spin;     /* for so long a waiter spins; then it sleeps */
  double wake;     /* from the release until a sleeper goes on */
  bool barging;    /* others may take the lock before the sleeper does; else
                      it is handed over, and nobody has it meanwhile */
};

struct sim {
  unsigned nr_cores;     /* 1..SIM_MAX_CORES */
  uint64_t nr_ops, seed; /* ops: of all cores */
  unsigned nr_locks;
  const uint8_t *kind_of; /* [nr_locks], enum sim_kind */
  struct sim_costs costs;
  /* Make the next operation. */
  void (*next_op) (const void *opaque, uint64_t *rng, struct sim_op *op);
  const void *opaque;
};

struct sim_result {
  double ops_per_ns;
  uint64_t waits[SIM_KINDS]; /* acquisitions that found the lock taken */
};

/* false: no memory. */
bool sim_run (const struct sim *sim, struct sim_result *result);

/* random_next, in [0, 1). */
double sim_fraction (uint64_t *rng);

#endif /* LOCK_SIM_H */
