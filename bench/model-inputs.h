/* SPDX-License-Identifier: BSD-3-Clause */
/* What scaling-model starts from: a real store, what its functions take, and how
 * often locks are waited for in it.
 */
#ifndef MODEL_INPUTS_H
#define MODEL_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "lock-sim.h"
#include "store-internal.h"

enum model_work {
  MODEL_READ,
  MODEL_WRITE,
};

/* Nanoseconds a call in one thread, and how often something happens. */
struct model_inputs {
  double read, write;
  double look, publish;      /* hold a stripe */
  double zs_malloc, zs_free; /* hold a class */
  double supply;             /* get or put of a zspage; holds chunk_lock */
  /* For one write: zspages that a class gets, or gives back; calls that change
   * counters of the pool.
   */
  double grown, emptied, malloc_counts, free_counts;
};

/* A store of the pages of a file but those that repeat one word.  Does not return
 * on error.
 */
struct store *model_store (const char *path, size_t *nr_pages);
void model_store_destroy (struct store *store);

void model_measure (struct store *store, size_t nr_pages,
                    struct model_inputs *inputs);

/* Really run it, in one thread and in two by turns: the rate of two relative to
 * twice that of one, and waits by kind a million operations of two.
 */
double model_two_threads (struct store *store, size_t nr_pages,
                          enum model_work work, double waits[SIM_KINDS]);

#endif /* MODEL_INPUTS_H */
