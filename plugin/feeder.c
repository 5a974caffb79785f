/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that populates memory ahead; see feeder.h. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "device.h"
#include "feeder.h"

static pthread_t thread;
static bool is_running;
static sem_t work;
static _Atomic bool is_woken; /* since it last began to look */
static _Atomic bool is_stopping;

static void
wait_for_work (void)
{
  while (sem_wait (&work) == -1 && errno == EINTR)
    ;
}

static void *
feed (void *opaque)
{
  size_t i;

  (void) opaque;
  /* Unlike the others, this thread may swap out what it needs room for, as no
   * request waits for it.
   */
  swap_may_reclaim ();
  for (;;) {
    wait_for_work ();
    if (is_stopping)
      return NULL;
    is_woken = false;
    for (i = 0; i < devices_nr () && !is_stopping; ++i)
      store_feed (devices_get (i)->store);
  }
}

void
feeder_wake (void *opaque)
{
  (void) opaque;
  if (!atomic_load_explicit (&is_woken, memory_order_relaxed) &&
      !atomic_exchange (&is_woken, true))
    sem_post (&work);
}

int
feeder_start (void)
{
  int err;

  is_stopping = is_woken = false;
  if (sem_init (&work, 0, 0) == -1)
    return -errno;
  err = pthread_create (&thread, NULL, feed, NULL);
  if (err != 0)
    return -err;
  is_running = true;
  return 0;
}

void
feeder_stop (void)
{
  if (!is_running)
    return;
  is_running = false;
  is_stopping = true;
  sem_post (&work);
  pthread_join (thread, NULL);
  sem_destroy (&work);
}
