/* SPDX-License-Identifier: BSD-3-Clause */
/* The system calls of an arena, which fail when told to.  There is one set a
 * program, as the calls have no argument to tell stores apart.
 */
#ifndef FAIL_OPS_H
#define FAIL_OPS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "arena.h"

struct fail_ops {
  /* Calls since the last reset: to populate, by madvise or else by fallocate,
   * and to release.
   */
  _Atomic long populates, fallbacks, releases;
  _Atomic long failed; /* of the populates */

  /* Fail calls to populate number fail_from.. (the first is 1; 0 = none), as
   * many as fail_count.  Half of what was asked is populated before.
   */
  _Atomic long fail_from, fail_count;
  /* Fail one in so many, at random; 0 = none. */
  _Atomic long fail_one_in;
  _Atomic bool fail_releases;
  /* Called before memory is populated; NULL = nothing. */
  void (*on_populate) (void);
  /* As before Linux 5.14: madvise says EINVAL. */
  _Atomic bool old_kernel;
};

extern struct fail_ops fail_ops;
extern const struct arena_ops fail_arena_ops;

/* Nothing fails, and the counts are 0. */
void fail_ops_reset (void);

/* All calls to populate fail from now on. */
void fail_ops_no_memory (void);

#endif /* FAIL_OPS_H */
