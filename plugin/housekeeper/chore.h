/* SPDX-License-Identifier: BSD-3-Clause */
/* The work that a device needs, done in slices of well under a millisecond,
 * so that the loop between two of them serves everything else.  All of this
 * belongs to the loop thread.
 */
#ifndef CHORE_H
#define CHORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy.h"
#include "size-class.h"
#include "store.h"
#include "trainer.h"

/* What somebody may ask for, and wait for the end of. */
enum chore_job {
  JOB_COMPACT,    /* everything, also during a burst */
  JOB_IDLE,       /* mark all pages idle */
  JOB_RESET,      /* forget all pages; nobody uses the device */
  JOB_TRAIN,      /* a dictionary, now; of a device that has them */
  JOB_RECOMPRESS, /* as the order says; of a device that has a strong codec */
  NR_JOBS,
};

struct chore_order {
  enum chore_job job;
  /* JOB_RECOMPRESS: which pages, and how many to try at most. */
  struct store_recompress how;
  uint64_t max_pages;
};

/* What is the same for all devices. */
struct chore_config {
  struct zs_budget *budget; /* of all devices together; NULL = none */
  unsigned interval_ms;
  unsigned recompress_cpu; /* percent of a processor, of a device; 0 = none */
  unsigned *nr_samples;    /* that there are, of all devices */
};

struct chore {
  struct store *store;
  struct chore_config config;
  struct policy_state policy;

  /* JOB_IDLE, JOB_RESET and JOB_RECOMPRESS: whether they are going on, and where
   * they are.
   */
  bool walking[NR_JOBS];
  uint64_t walk_at[NR_JOBS];
  struct store_recompress by_hand;
  uint64_t by_hand_left; /* pages that may still be tried */

  bool trimming;
  bool compacting;
  bool forced; /* to the end, whatever the policy says */
  uint64_t stored_at_start;
  struct policy_class order[ZS_NR_SIZES]; /* classes yet to compact */
  size_t nr_order, next_order;

  /* The device's dictionary: a sample is taken, and waits for being trained on
   * until chore_trained.
   */
  bool has_dictionaries;
  uint8_t *sample; /* [nr_sample] of TRAINER_PAGES; NULL: none is wanted */
  size_t nr_sample;
  unsigned nr_probed;
  struct store_sampler sampler;
  bool sample_is_ready;
  uint64_t resets; /* of the store, when the sample was begun */

  bool recompressing;
  uint64_t stored_at_pass;
  bool small_too; /* the second half of a pass */
  uint64_t recompress_at;
  int64_t credit_ns; /* of processor time */
};

/* has_dictionaries: the store has a strong codec, and is to have dictionaries
 * trained.
 */
void chore_init (struct chore *chore, struct store *store,
                 bool has_dictionaries, const struct chore_config *config);
void chore_fini (struct chore *chore);

/* The training on the chore's sample has ended, with a dictionary or NULL.  Whether
 * that is the newest now.
 */
bool chore_trained (struct chore *chore, struct dictionary *dictionary);

/* An interval has passed: decide what to do.  Returns the percentage of the
 * limit to warn about, or 0.
 */
unsigned chore_tick (struct chore *chore);

/* Begin what is ordered; from the start, if such a job is going on. */
void chore_begin (struct chore *chore, const struct chore_order *order);

static inline bool
chore_is_at (const struct chore *chore, enum chore_job job)
{
  return job == JOB_COMPACT ? chore->compacting
         : job == JOB_TRAIN ? chore->sample != NULL
                            : chore->walking[job];
}

static inline bool
chore_is_due (const struct chore *chore)
{
  return chore->trimming || chore->compacting || chore->walking[JOB_IDLE] ||
         chore->walking[JOB_RESET] || chore->walking[JOB_RECOMPRESS] ||
         (chore->sample && !chore->sample_is_ready) ||
         (chore->recompressing && chore->credit_ns > 0);
}

/* Do one slice. */
void chore_slice (struct chore *chore);

#endif /* CHORE_H */
