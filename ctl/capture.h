/* SPDX-License-Identifier: BSD-3-Clause */

/* Reading the pages of a running process that swap could take: see capture.c
 * for which these are.
 */

#ifndef CTL_CAPTURE_H
#define CTL_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CTL_CAPTURE_MSG_LEN 512

struct ctl_capture_counts {
  uint64_t nr_captured;   /* handed to the caller */
  uint64_t nr_swapped;    /* skipped: on swap already, reading would fault */
  uint64_t nr_unreadable; /* skipped: vanished, or not ordinary memory */
  uint64_t nr_untouched;  /* skipped: the kernel's shared page of zeros */
};

/* Takes nr_pages (never 0) pages of ZSPAGE_PAGE_SIZE bytes, which are valid
 * only during the call.  Returns 0, or -errno to end the capture.
 */
typedef int ctl_capture_fn (void *opaque, const unsigned char *pages,
                            size_t nr_pages);

/* Hand the resident anonymous pages of process PID to fn, in address order,
 * at most max_pages of them (0: all).  The process runs on meanwhile, so the
 * pages are not of one instant.
 *
 * Adds to *counts as it goes, also when it fails, so several processes can be
 * summed up.  Allocates about 3 MB while it runs, and blocks on nothing but
 * fn.
 *
 * Returns 0 or -errno, with the reason and the remedy in msg:
 *   -ESRCH    there is no such process, or it ended meanwhile
 *   -EACCES, -EPERM  this user may not read its memory
 *   -ENOTSUP  this machine's pages are not of ZSPAGE_PAGE_SIZE
 *   -ENOMEM, -ENOSYS, -EIO and what open and read of /proc can say.
 * What fn returned is returned as it is, with an empty msg: the caller knows.
 */
extern int ctl_capture_process (pid_t pid, uint64_t max_pages,
                                ctl_capture_fn *fn, void *opaque,
                                struct ctl_capture_counts *counts,
                                char msg[CTL_CAPTURE_MSG_LEN]);

#endif /* CTL_CAPTURE_H */
