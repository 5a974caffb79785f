/* SPDX-License-Identifier: BSD-3-Clause */
/* Locked memory and the I/O flusher; see swap.h. */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "swap.h"

#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif

/* nbdkit makes 16 threads a connection, whose stacks of 8 MiB would all be
 * locked.  A TLS handshake takes the most of it.
 */
#define STACK_BYTES (256 * 1024)

/* nbdkit's threads keep a buffer each for the largest request so far, which is
 * 1.25 MiB where Linux swaps out, and threads are 16 unless -t says otherwise.
 * So much of the heap is there before; what is smaller than LARGE_BYTES comes
 * from it, and what is larger is mapped, and goes back when it is freed.
 */
#define HEAP_BYTES  (28 << 20)
#define LARGE_BYTES (2 << 20)
#define MMAPS_MAX   65536

static void
stacks_make_small (void)
{
  pthread_attr_t attr;
  size_t bytes;

  if (pthread_getattr_default_np (&attr) != 0)
    return;
  if (pthread_attr_getstacksize (&attr, &bytes) == 0 && bytes > STACK_BYTES &&
      pthread_attr_setstacksize (&attr, STACK_BYTES) == 0)
    pthread_setattr_default_np (&attr);
  pthread_attr_destroy (&attr);
}

/* What could not be had, as a list. */
struct missing {
  char text[512];
  size_t len;
};

static void __attribute__ ((format (printf, 2, 3)))
missing_add (struct missing *m, const char *fmt, ...)
{
  va_list args;
  int n;

  n = snprintf (m->text + m->len, sizeof m->text - m->len, "%s",
                m->len ? "; " : "");
  m->len += n;
  va_start (args, fmt);
  n = vsnprintf (m->text + m->len, sizeof m->text - m->len, fmt, args);
  va_end (args);
  m->len += n;
  if (m->len >= sizeof m->text)
    m->len = sizeof m->text - 1;
}

/* Lock what is there as it is touched (most of the address space never is), and
 * what is mapped later, as threads' stacks are, at once.
 */
static int
lock (void)
{
  if (mlockall (MCL_CURRENT | MCL_ONFAULT) == -1)
    return -1;
  if (mlockall (MCL_FUTURE) == 0)
    return 0;
  munlockall ();
  return -1;
}

/* One heap for all threads, which keeps what it has. */
static void
heap_is_one (void)
{
#if HAVE_MALLOPT
  mallopt (M_ARENA_MAX, 1);
  mallopt (M_MMAP_THRESHOLD, LARGE_BYTES);
  mallopt (M_TRIM_THRESHOLD, 2 * HEAP_BYTES);
#endif
}

void
swap_prepare_heap (enum swap_mode mode)
{
#if HAVE_MALLOPT
  void *p;

  if (mode == SWAP_NO)
    return;
  mallopt (M_MMAP_MAX, 0);
  p = malloc (HEAP_BYTES);
  if (p)
    explicit_bzero (p, HEAP_BYTES); /* which is not optimised away */
  free (p);
  mallopt (M_MMAP_MAX, MMAPS_MAX);
#else
  (void) mode;
#endif
}

static void
missing_lock (struct missing *m, int err)
{
  struct rlimit limit = {0};

  getrlimit (RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY)
    missing_add (m, "memory cannot be locked: %s", strerror (err));
  else
    missing_add (m,
                 "memory cannot be locked: RLIMIT_MEMLOCK is %llu bytes; "
                 "unlimited or CAP_IPC_LOCK is needed",
                 (unsigned long long) limit.rlim_cur);
}

static void
missing_oom_protection (struct missing *m)
{
  FILE *f = fopen ("/proc/self/oom_score_adj", "re");
  int score;

  if (f == NULL)
    return;
  if (fscanf (f, "%d", &score) == 1 && score >= 0)
    missing_add (m,
                 "the OOM killer may choose this server: oom_score_adj is %d, "
                 "-1000 is safe",
                 score);
  fclose (f);
}

static bool is_flusher;

int
swap_prepare (enum swap_mode mode)
{
  struct missing m = {.len = 0};
  int needed;

  if (mode == SWAP_NO)
    return 0;
  stacks_make_small ();
  if (lock () == -1)
    missing_lock (&m, errno);
  /* Children and threads inherit it. */
  is_flusher = prctl (PR_SET_IO_FLUSHER, 1, 0, 0, 0) == 0;
  if (!is_flusher)
    missing_add (&m, "not marked as part of the I/O path: %s",
                 errno == EPERM ? "CAP_SYS_RESOURCE is needed"
                                : "Linux 5.6 is needed");
  needed = m.len;
  /* Which is never why a server does not start. */
  if (mode != SWAP_REQUIRE || needed == 0)
    missing_oom_protection (&m);
  if (m.len == 0)
    return 0;
  nbdkit_error ("swap=%s: %s", mode == SWAP_REQUIRE ? "require" : "true",
                m.text);
  return mode == SWAP_REQUIRE && needed ? -1 : 0;
}

int
swap_lock (enum swap_mode mode)
{
  struct missing m = {.len = 0};

  if (mode == SWAP_NO)
    return 0;
  heap_is_one ();
  /* What could not be had before the fork was said then. */
  if (lock () == -1 && mode == SWAP_REQUIRE)
    missing_lock (&m, errno);
  if (is_flusher && prctl (PR_SET_IO_FLUSHER, 1, 0, 0, 0) == -1)
    missing_add (&m, "the thread that keeps memory ready is part of the I/O "
                     "path as well: CAP_SYS_RESOURCE is needed after -u, too");
  if (m.len == 0)
    return 0;
  nbdkit_error ("swap=%s: %s", mode == SWAP_REQUIRE ? "require" : "true",
                m.text);
  return mode == SWAP_REQUIRE ? -1 : 0;
}

void
swap_may_reclaim (enum swap_mode mode)
{
  if (mode != SWAP_NO)
    prctl (PR_SET_IO_FLUSHER, 0, 0, 0, 0);
}
