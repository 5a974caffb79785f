/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that populates memory ahead; see feeder.h. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "device.h"
#include "feeder.h"

/* After the kernel refused memory, how long not to ask again: doubled each
 * time, as what it has then is better used by writes.
 */
#define PAUSE_MS_FIRST 100u
#define PAUSE_MS_MAX   1600u

static pthread_t thread;
static _Atomic bool is_running;
static sem_t work, stop;
static _Atomic bool is_woken; /* since it last began to look */

static bool
should_stop_within (unsigned ms)
{
  struct timespec until;
  int r;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  do
    r = sem_timedwait (&stop, &until);
  while (r == -1 && errno == EINTR);
  return r == 0;
}

static bool
should_stop (void)
{
  return sem_trywait (&stop) == 0;
}

/* A little for each device in turn, until all have enough.  False if the kernel
 * refuses.
 */
static bool
feed_all (bool *stopped)
{
  bool more, any, is_refused = false;
  size_t i;

  do {
    any = false;
    for (i = 0; i < devices_nr (); ++i) {
      if (store_feed (devices_get (i)->store, &more) < 0)
        is_refused = true;
      any |= more;
    }
    *stopped = should_stop ();
  } while (any && !is_refused && !*stopped);
  return !is_refused;
}

static void *
feed (void *opaque)
{
  unsigned pause_ms = PAUSE_MS_FIRST;
  bool has_heap = false, stopped = false;

  (void) opaque;
  /* Unlike the others, this thread may swap out what it needs room for, as no
   * request waits for it.
   */
  swap_may_reclaim (server_config.swap);
  while (!stopped) {
    while (sem_wait (&work) == -1 && errno == EINTR)
      ;
    is_woken = false;
    if (should_stop ())
      break;
    if (!has_heap)
      swap_prepare_heap (server_config.swap);
    has_heap = true;
    if (feed_all (&stopped))
      pause_ms = PAUSE_MS_FIRST;
    else if (!stopped) {
      stopped = should_stop_within (pause_ms);
      pause_ms = pause_ms < PAUSE_MS_MAX ? 2 * pause_ms : pause_ms;
    }
  }
  return NULL;
}

void
feeder_wake (void *opaque)
{
  (void) opaque;
  /* Before it runs, feeder_start sees to it. */
  if (!atomic_load_explicit (&is_woken, memory_order_relaxed) &&
      !atomic_exchange (&is_woken, true) && is_running)
    sem_post (&work);
}

int
feeder_start (void)
{
  int err;

  if (sem_init (&work, 0, 0) == -1 || sem_init (&stop, 0, 0) == -1)
    return -errno;
  err = pthread_create (&thread, NULL, feed, NULL);
  is_running = err == 0;
  if (is_running) {
    if (is_woken) /* by a device that was recovered */
      sem_post (&work);
    return 0;
  }
  sem_destroy (&work);
  sem_destroy (&stop);
  return -err;
}

void
feeder_stop (void)
{
  if (!is_running)
    return;
  is_running = false;
  sem_post (&stop);
  sem_post (&work);
  pthread_join (thread, NULL);
  sem_destroy (&work);
  sem_destroy (&stop);
}
