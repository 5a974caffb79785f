/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time and memory of another process.
 *
 * The CPU time comes from the process's CPU clock rather than from summing
 * /proc/PID/task/<tid>/schedstat: the clock keeps the time of threads that have
 * exited, has the same nanosecond unit, and is one system call, so reading it
 * disturbs the measured machine less.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "procstat.h"

int
procstat_cpu_ns (pid_t pid, uint64_t *ns)
{
  clockid_t clock;
  struct timespec ts;
  int r;

  r = clock_getcpuclockid (pid, &clock);
  if (r != 0)
    return -r;
  if (clock_gettime (clock, &ts) == -1)
    return errno == EINVAL ? -ESRCH : -errno;
  *ns = (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
  return 0;
}

int
procstat_memory (pid_t pid, uint64_t *rss_kb, uint64_t *pss_kb)
{
  char path[64], line[256];
  bool have_rss = false, have_pss = false;
  FILE *fp;

  snprintf (path, sizeof path, "/proc/%" PRIdMAX "/smaps_rollup",
            (intmax_t) pid);
  fp = fopen (path, "re");
  if (fp == NULL)
    return -errno;
  while (fgets (line, sizeof line, fp) != NULL) {
    if (sscanf (line, "Rss: %" SCNu64, rss_kb) == 1)
      have_rss = true;
    else if (sscanf (line, "Pss: %" SCNu64, pss_kb) == 1)
      have_pss = true;
  }
  fclose (fp);
  return have_rss && have_pss ? 0 : -EPROTO;
}
