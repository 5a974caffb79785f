/* SPDX-License-Identifier: BSD-3-Clause */
/* What another process costs: its CPU time and its memory, as the kernel
 * counts them.
 */

#ifndef BENCH_PROCSTAT_H
#define BENCH_PROCSTAT_H

#include <stdint.h>
#include <sys/types.h>

/* CPU time of process PID since it started, in nanoseconds, threads that have
 * exited included.  0, or -errno: -ESRCH when there is no such process.
 */
int procstat_cpu_ns (pid_t pid, uint64_t *ns);

/* Resident and proportional set size of process PID, in units of 1024 bytes.
 * 0, or -errno: -ENOENT when there is no such process, -EACCES when it is
 * someone else's, -EPROTO when the kernel's text has no such lines.
 */
int procstat_memory (pid_t pid, uint64_t *rss_kb, uint64_t *pss_kb);

#endif /* BENCH_PROCSTAT_H */
