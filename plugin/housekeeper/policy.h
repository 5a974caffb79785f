/* SPDX-License-Identifier: BSD-3-Clause */
/* What to do for a device now: a pure function of figures, without threads,
 * locks or clocks.
 */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A limit is near from this share of it on, in percent. */
#define POLICY_NEAR_LIMIT 90

/* What a device is like at a moment.  Pages are of 4096 bytes. */
struct policy_figures {
  uint64_t pages_stored;   /* of the device, uncompressed */
  uint64_t pages_used;     /* of memory, by zspages */
  uint64_t pages_limit;    /* 0 = none */
  uint64_t all_used;       /* as pages_used, by all devices together */
  uint64_t all_limit;      /* of that; 0 = none */
  uint64_t pages_freeable; /* by compaction */
  uint64_t pages_stock;    /* populated, unused, beyond what is kept at rest */
};

/* What is remembered from one tick to the next; all zero at first. */
struct policy_state {
  bool has_last;
  uint64_t last_stored;
  unsigned warned; /* the highest level that was said, in percent; 0 */
};

enum policy_reason {
  POLICY_NOTHING_FREEABLE,
  POLICY_BURST, /* pages are being stored: they would take it back */
  POLICY_IDLE,  /* compact: there is something to be had */
  POLICY_NEAR,  /* compact: the limit is near */
};

struct policy_decision {
  bool compact;
  enum policy_reason reason;
  bool trim_stock;  /* give stock back down to the low mark */
  unsigned warning; /* percent of the limit to warn about now; 0 = none */
};

/* Decide at a tick, and remember.  To be called once an interval. */
struct policy_decision policy_tick (struct policy_state *state,
                                    const struct policy_figures *figures);

/* Whether to go on compacting, between two slices of a run that a tick began;
 * stored_at_start is pages_stored at that tick.
 */
bool policy_go_on (const struct policy_figures *figures,
                   uint64_t stored_at_start);

/* What part of a limit, in percent, is to be warned about now; 0 = none.  Each
 * level is said once, in *warned, until use has fallen well below all of them.
 */
unsigned policy_warning (unsigned *warned, uint64_t used, uint64_t limit);

/* A size class as compaction sees it. */
struct policy_class {
  unsigned index;
  uint64_t pages_freeable;
  uint64_t copies; /* estimate of what freeing them takes */
};

/* Sort so that what gives back most per copy comes first. */
void policy_order (struct policy_class *classes, size_t nr);

#endif /* POLICY_H */
