/* SPDX-License-Identifier: BSD-3-Clause */
/* A mutex that knows its place in the lock order.
 *
 * A thread may lock only ranks above those it holds; debug builds abort
 * otherwise.  Compaction comes from the other side, so it uses try_lock, which
 * cannot deadlock and is not checked.  Several locks of one rank may be held
 * where the declaration of the lock says in which order.
 */
#ifndef RANKED_LOCK_H
#define RANKED_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum lock_rank {
  RANK_RECOMPRESS, /* dictionaries, and recompressing; store-internal.h */
  RANK_CODEC,      /* a codec context; codec.c */
  RANK_TABLE,      /* growing the slot table; slot-table.c */
  RANK_SLOT,       /* a stripe of slots; slot-table.c */
  RANK_ROOM,       /* compacting a device; room.c, store.c */
  RANK_CLASS,      /* a size class; zspool-internal.h */
  RANK_CHUNK,      /* chunks, stock and reserve; zspool-internal.h */
  RANK_HEADROOM,   /* what a cgroup still allows; headroom.c */
  RANK_COUNT,
};

struct ranked_lock {
  pthread_mutex_t mutex;
  enum lock_rank rank;
};

/* Acquisitions that found a lock of the rank taken, and so waited, since the
 * process started; those that only tried are not among them.
 */
uint64_t ranked_lock_waits (enum lock_rank rank);

/* The slow way. */
void ranked_lock_wait (struct ranked_lock *lock);

#ifdef ZSPAGE_DEBUG
/* Initial-exec: the loader would malloc it for each thread otherwise, and free
 * it where ThreadSanitizer sees a race.
 */
extern __thread unsigned char ranked_lock_held[RANK_COUNT]
  __attribute__ ((tls_model ("initial-exec")));

static inline void
ranked_lock_check (enum lock_rank rank, bool same_rank_allowed)
{
  int r;

  for (r = rank + (same_rank_allowed ? 1 : 0); r < RANK_COUNT; ++r)
    assert (ranked_lock_held[r] == 0);
}
#endif

static inline void
ranked_lock_init (struct ranked_lock *lock, enum lock_rank rank)
{
  pthread_mutexattr_t attr;

  /* These locks are held for about a microsecond: spin a little first. */
  pthread_mutexattr_init (&attr);
  pthread_mutexattr_settype (&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init (&lock->mutex, &attr);
  pthread_mutexattr_destroy (&attr);
  lock->rank = rank;
}

static inline void
ranked_lock_fini (struct ranked_lock *lock)
{
  pthread_mutex_destroy (&lock->mutex);
}

static inline bool
ranked_trylock (struct ranked_lock *lock)
{
  if (pthread_mutex_trylock (&lock->mutex) != 0)
    return false;
#ifdef ZSPAGE_DEBUG
  ranked_lock_held[lock->rank]++;
#endif
  return true;
}

static inline void
ranked_lock (struct ranked_lock *lock)
{
#ifdef ZSPAGE_DEBUG
  ranked_lock_check (lock->rank, false);
#endif
  if (pthread_mutex_trylock (&lock->mutex) != 0)
    ranked_lock_wait (lock);
#ifdef ZSPAGE_DEBUG
  ranked_lock_held[lock->rank]++;
#endif
}

/* Another lock of a rank that the thread holds already. */
static inline void
ranked_lock_next (struct ranked_lock *lock)
{
#ifdef ZSPAGE_DEBUG
  ranked_lock_check (lock->rank, true);
#endif
  if (pthread_mutex_trylock (&lock->mutex) != 0)
    ranked_lock_wait (lock);
#ifdef ZSPAGE_DEBUG
  ranked_lock_held[lock->rank]++;
#endif
}

static inline void
ranked_unlock (struct ranked_lock *lock)
{
#ifdef ZSPAGE_DEBUG
  assert (ranked_lock_held[lock->rank] > 0);
  ranked_lock_held[lock->rank]--;
#endif
  pthread_mutex_unlock (&lock->mutex);
}

#endif /* RANKED_LOCK_H */
