/* SPDX-License-Identifier: BSD-3-Clause */

/* Telling the user how far a transfer is: a bar that redraws itself on a
 * terminal, a line every 10% elsewhere.  Goes to stderr, so that stdout
 * holds results only.
 */

#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ctl_progress {
  const char *label; /* not copied */
  uint64_t total_bytes;
  uint64_t start_ns;
  uint64_t drawn_ns;   /* when the bar was last drawn */
  unsigned next_tenth; /* the next line is due at this many 10% */
  bool tty;
};

/* Nanoseconds of a clock that never jumps. */
extern uint64_t ctl_now_ns (void);

extern void ctl_progress_start (struct ctl_progress *p, const char *label,
                                uint64_t total_bytes);

/* done_bytes is the sum so far.  Cheap: may be called for each request. */
extern void ctl_progress_update (struct ctl_progress *p, uint64_t done_bytes);

/* Ends the bar's line, wherever it stands. */
extern void ctl_progress_stop (struct ctl_progress *p);

#endif /* CTL_PROGRESS_H */
