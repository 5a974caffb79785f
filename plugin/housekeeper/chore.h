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

struct chore {
  struct store *store;
  struct zs_budget *budget;
  struct policy_state policy;

  bool trimming;
  bool compacting;
  bool forced; /* to the end, whatever the policy says */
  uint64_t stored_at_start;
  struct policy_class order[ZS_NR_SIZES]; /* classes yet to compact */
  size_t nr_order, next_order;
};

/* budget: of all devices together; NULL = none. */
void chore_init (struct chore *chore, struct store *store,
                 struct zs_budget *budget);

/* An interval has passed: decide what to do.  Returns the percentage of the
 * limit to warn about, or 0.
 */
unsigned chore_tick (struct chore *chore);

/* Compact everything, also during a burst.  From the start, if a run is
 * going on.
 */
void chore_compact_all (struct chore *chore);

static inline bool
chore_is_due (const struct chore *chore)
{
  return chore->trimming || chore->compacting;
}

/* Do one slice. */
void chore_slice (struct chore *chore);

#endif /* CHORE_H */
