/* SPDX-License-Identifier: BSD-3-Clause */

/* What is in a file of pages. */

#ifndef CTL_INFO_H
#define CTL_INFO_H

#include <stdint.h>

struct ctl_info {
  uint64_t nr_pages;
  uint64_t nr_zero;        /* of them, all zeros */
  uint64_t nr_same_filled; /* of them, one 8-byte word repeated: zero too */
  uint64_t nr_rest_bytes;  /* after the last whole page */
};

/* Read the file from its start to its end.  Returns 0, or -errno. */
extern int ctl_info_read (const char *file, struct ctl_info *info);

#endif /* CTL_INFO_H */
