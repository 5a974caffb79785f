/* SPDX-License-Identifier: BSD-3-Clause */

/* Pages to try things with, from a process or a file; if there are more than
 * wanted, some that stand for all.
 */

#ifndef CTL_SAMPLE_H
#define CTL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture.h"

struct ctl_sample {
  unsigned char *pages; /* nr_pages of ZSPAGE_PAGE_SIZE */
  size_t nr_pages;
  uint64_t nr_all; /* pages that these stand for */
  size_t max_pages;
  uint64_t random;
  char msg[CTL_CAPTURE_MSG_LEN];
};

/* How many pages it is sensible to hold: 256 MiB, or on a small machine a
 * quarter of what is available.
 */
extern size_t ctl_sample_sensible_pages (void);

/* Take at most max_pages (not 0).  Those of a process are picked at random,
 * the same in each run if the process stands still, those of a file at equal
 * distances.  Returns 0; or -errno and what is the matter in sample->msg, and
 * then there is nothing to give up.
 */
extern int ctl_sample_process (struct ctl_sample *sample, pid_t pid,
                               size_t max_pages);
extern int ctl_sample_file (struct ctl_sample *sample, const char *path,
                            size_t max_pages);

extern void ctl_sample_fini (struct ctl_sample *sample);

#endif /* CTL_SAMPLE_H */
