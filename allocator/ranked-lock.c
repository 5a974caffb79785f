/* SPDX-License-Identifier: BSD-3-Clause */
/* How often locks were waited for; and what each thread holds, by rank, which only
 * debug builds look at.
 */
#include <config.h>

#include "ranked-lock.h"

#ifdef ZSPAGE_DEBUG
__thread unsigned char ranked_lock_held[RANK_COUNT];
#endif

/* Changed only by who waits, which takes longer anyway. */
static _Atomic uint64_t waits[RANK_COUNT];

uint64_t
ranked_lock_waits (enum lock_rank rank)
{
  return atomic_load_explicit (&waits[rank], memory_order_relaxed);
}

void
ranked_lock_wait (struct ranked_lock *lock)
{
  atomic_fetch_add_explicit (&waits[lock->rank], 1, memory_order_relaxed);
  pthread_mutex_lock (&lock->mutex);
}
