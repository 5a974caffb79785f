/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers; see crew.h.
 *
 * The caller takes pieces from the front, and helpers from the back, so that
 * those which the caller has are done in order, and it can go on with the others
 * when they have met.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "crew.h"
#include "zspage-page.h"

/* The pieces that nobody has: from the lower half to below the upper one. */
#define LEFT(from, end) ((uint32_t) (end) << 16 | (from))

struct crew {
  void *scratch;
  size_t scratch_bytes;
  unsigned nr_helpers;
  unsigned nr_started;
  pthread_t helpers[CREW_HELPERS_MAX];

  _Atomic bool is_taken;
  _Atomic uint32_t left;

  /* Guards what follows.  No other lock is taken with it held. */
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  void (*piece) (void *opaque, unsigned i);
  void *opaque;
  unsigned nr_active; /* helpers that may be in a piece */
  bool is_stopping;
};

static bool
nothing_left (struct crew *crew)
{
  uint32_t left = atomic_load (&crew->left);

  return (left & 0xffff) >= left >> 16;
}

/* Take the first piece that is left, or the last. */
static bool
take (struct crew *crew, bool first, unsigned *i)
{
  uint32_t left = atomic_load (&crew->left), now;
  unsigned from, end;

  do {
    from = left & 0xffff;
    end = left >> 16;
    if (from >= end)
      return false;
    *i = first ? from : end - 1;
    now = first ? LEFT (from + 1, end) : LEFT (from, end - 1);
  } while (!atomic_compare_exchange_weak (&crew->left, &left, now));
  return true;
}

static void *
help (void *arg)
{
  struct crew *crew = arg;
  void (*piece) (void *, unsigned);
  void *opaque;
  unsigned i;

  pthread_setname_np (pthread_self (), "zspage-crew");
  pthread_mutex_lock (&crew->lock);
  for (;;) {
    while (nothing_left (crew) && !crew->is_stopping)
      pthread_cond_wait (&crew->work, &crew->lock);
    if (crew->is_stopping)
      break;
    piece = crew->piece;
    opaque = crew->opaque;
    crew->nr_active++;
    pthread_mutex_unlock (&crew->lock);
    while (take (crew, false, &i))
      piece (opaque, i);
    pthread_mutex_lock (&crew->lock);
    if (--crew->nr_active == 0)
      pthread_cond_signal (&crew->idle);
  }
  pthread_mutex_unlock (&crew->lock);
  return NULL;
}

/* Those that this process may run on; where there are more than a cpu_set_t has
 * room for, those that there are.
 */
static unsigned
processors (void)
{
  cpu_set_t set;
  long online;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    return CPU_COUNT (&set);
  online = sysconf (_SC_NPROCESSORS_ONLN);
  return online > 0 ? online : 1;
}

int
crew_create (unsigned helpers, size_t scratch, struct crew **out)
{
  struct crew *crew = calloc (1, sizeof *crew);

  if (crew == NULL)
    return -ENOMEM;
  crew->nr_helpers = helpers ? helpers : processors () - 1;
  if (crew->nr_helpers > CREW_HELPERS_MAX)
    crew->nr_helpers = CREW_HELPERS_MAX;
  if (crew->nr_helpers > 0) {
    crew->scratch_bytes = zspage_align_up (scratch, ZSPAGE_PAGE_SIZE);
    crew->scratch = mmap (NULL, crew->scratch_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (crew->scratch == MAP_FAILED) {
      free (crew);
      return -ENOMEM;
    }
  }
  pthread_mutex_init (&crew->lock, NULL);
  pthread_cond_init (&crew->work, NULL);
  pthread_cond_init (&crew->idle, NULL);
  *out = crew;
  return 0;
}

int
crew_start (struct crew *crew)
{
  sigset_t all, before;
  int err = 0;

  /* Signals are for nbdkit's threads. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  while (err == 0 && crew->nr_started < crew->nr_helpers) {
    err = pthread_create (&crew->helpers[crew->nr_started], NULL, help, crew);
    if (err == 0)
      crew->nr_started++;
  }
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  return -err;
}

void
crew_stop (struct crew *crew)
{
  if (crew == NULL)
    return;
  pthread_mutex_lock (&crew->lock);
  crew->is_stopping = true;
  pthread_cond_broadcast (&crew->work);
  pthread_mutex_unlock (&crew->lock);
  while (crew->nr_started > 0)
    pthread_join (crew->helpers[--crew->nr_started], NULL);
}

void
crew_destroy (struct crew *crew)
{
  if (crew == NULL)
    return;
  crew_stop (crew);
  pthread_cond_destroy (&crew->idle);
  pthread_cond_destroy (&crew->work);
  pthread_mutex_destroy (&crew->lock);
  if (crew->scratch)
    munmap (crew->scratch, crew->scratch_bytes);
  free (crew);
}

void
crew_warm (struct crew *crew)
{
  volatile uint8_t *p = crew->scratch;
  size_t i;
  int r;

  if (crew->nr_started == 0)
    return;
  do
    r = madvise (crew->scratch, crew->scratch_bytes, MADV_POPULATE_WRITE);
  while (r == -1 && (errno == EINTR || errno == EAGAIN));
  /* Before Linux 5.14.  Whoever has the crew may be writing there, which touches
   * it as well.
   */
  if (r == 0 || !crew_acquire (crew))
    return;
  for (i = 0; i < crew->scratch_bytes; i += ZSPAGE_PAGE_SIZE)
    p[i] = 0;
  crew_release (crew);
}

size_t
crew_bytes (const struct crew *crew)
{
  return crew ? crew->scratch_bytes + sizeof *crew : 0;
}

bool
crew_acquire (struct crew *crew)
{
  return crew && crew->nr_started > 0 &&
         !atomic_load_explicit (&crew->is_taken, memory_order_relaxed) &&
         !atomic_exchange (&crew->is_taken, true);
}

void
crew_begin (struct crew *crew, unsigned nr,
            void (*piece) (void *opaque, unsigned i), void *opaque)
{
  pthread_mutex_lock (&crew->lock);
  crew->piece = piece;
  crew->opaque = opaque;
  atomic_store (&crew->left, LEFT (0, nr));
  pthread_cond_broadcast (&crew->work);
  pthread_mutex_unlock (&crew->lock);
}

void *
crew_scratch (struct crew *crew)
{
  return crew->scratch;
}

bool
crew_take (struct crew *crew, unsigned *i)
{
  return take (crew, true, i);
}

void
crew_wait (struct crew *crew)
{
  pthread_mutex_lock (&crew->lock);
  atomic_store (&crew->left, 0);
  while (crew->nr_active > 0)
    pthread_cond_wait (&crew->idle, &crew->lock);
  pthread_mutex_unlock (&crew->lock);
}

void
crew_release (struct crew *crew)
{
  atomic_store (&crew->is_taken, false);
}
