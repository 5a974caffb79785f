/* SPDX-License-Identifier: BSD-3-Clause */
/* Locked memory and the I/O flusher; see swap.h. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
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

/* nbdkit makes 16 threads a connection, whose 8 MiB of stack each would count
 * as locked, though hardly any of it is touched.
 */
#define STACK_BYTES (512 * 1024)

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

static int
lock (void)
{
  return mlockall (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
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
  if (prctl (PR_SET_IO_FLUSHER, 1, 0, 0, 0) == -1)
    missing_add (&m, "not marked as part of the I/O path: %s",
                 errno == EPERM ? "CAP_SYS_RESOURCE is needed"
                                : "Linux 5.6 is needed");
  needed = m.len;
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
  if (mode == SWAP_NO || lock () == 0 || mode != SWAP_REQUIRE)
    return 0;
  nbdkit_error ("swap=require: memory cannot be locked: %m");
  return -1;
}
