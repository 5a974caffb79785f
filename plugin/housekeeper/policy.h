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

/* Coded pages from which on there is something to learn: 8 MiB. */
#define POLICY_TRAIN_PAGES 2048u
/* Growth after which there is more to learn than before, so much that it does not
 * wait for the end of a burst; and the share of pages, in percent, that are new
 * since the last training, from which on a pass waits for another.
 */
#define POLICY_TRAIN_GROWTH 4u
#define POLICY_TRAIN_NEW    20u
/* Between one training and the next: after one that gained, which looks whether
 * what is stored has changed; and after the first in vain, doubled each time.
 */
#define POLICY_TRAIN_AGAIN_MS   UINT64_C (300000)
#define POLICY_TRAIN_VAIN_MS    UINT64_C (60000)
#define POLICY_TRAIN_LONGEST_MS UINT64_C (3600000)
/* Shares of a limit, in percent, from which on memory is short, so that what is
 * written is compressed densely; and below which it no longer is.
 */
#define POLICY_DENSE_FROM  50
#define POLICY_DENSE_UNTIL 40
/* From the end of a pass of recompression to the next; so long a page was not
 * used.
 */
#define POLICY_PASS_MS UINT64_C (30000)

/* What a device is like at a moment.  Pages are of 4096 bytes. */
struct policy_figures {
  uint64_t pages_stored;   /* of the device, uncompressed */
  uint64_t pages_used;     /* of memory, by zspages */
  uint64_t pages_limit;    /* 0 = none */
  uint64_t all_used;       /* as pages_used, by all devices together */
  uint64_t all_limit;      /* of that; 0 = none */
  uint64_t pages_freeable; /* by compaction */
  uint64_t pages_stock;    /* populated, unused, beyond what is kept at rest */
  uint64_t pages_coded;    /* compressed by a codec: neither huge nor filled */
  uint64_t pages_open;     /* coded or huge, and recompression not yet tried */
  uint64_t elapsed_ms;     /* since the last tick */
};

/* What is remembered from one tick to the next; all zero at first. */
struct policy_state {
  bool has_last;
  uint64_t last_stored;
  unsigned warned; /* the highest level that was said, in percent; 0 */
  uint64_t now_ms; /* since the first tick */
  /* When to train again, and how long to wait after that in vain; how much there
   * was to learn from the last time, 0 = never.
   */
  uint64_t train_at_ms, train_wait_ms, trained_pages;
  bool is_training;
  uint64_t open_low;   /* the fewest pages_open since then: others are new */
  uint64_t pass_at_ms; /* of recompression: when the last began, or ended */
  bool dense;
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
  bool train;       /* a dictionary, if the device is one that has them */
  bool dense;       /* compress densely what is written, if it can */
  bool recompress;  /* begin a pass, if the device is one that has them */
  bool trim_stock;  /* give stock back down to the low mark */
  unsigned warning; /* percent of the limit to warn about now; 0 = none */
};

/* Decide at a tick, and remember.  To be called once an interval. */
struct policy_decision policy_tick (struct policy_state *state,
                                    const struct policy_figures *figures);

/* How a training ended that a tick asked for: a dictionary was made that gains
 * enough, or not.
 */
void policy_trained (struct policy_state *state, bool won);

/* It cannot be done now: ask again at the next tick. */
void policy_train_later (struct policy_state *state);

/* A pass has ended: the next is due POLICY_PASS_MS from now. */
void policy_pass_ended (struct policy_state *state);

/* The device begins anew: nothing has been learnt. */
void policy_forget (struct policy_state *state);

/* Whether to go on recompressing, as policy_go_on. */
bool policy_go_on_recompressing (const struct policy_figures *figures,
                                 uint64_t stored_at_start);

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
