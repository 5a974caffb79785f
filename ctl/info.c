/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the counting of a file's pages by kind. */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "info.h"
#include "page.h"

int
ctl_info_read (const char *file, struct ctl_info *info)
{
  unsigned char page[ZSPAGE_PAGE_SIZE];
  uint64_t word;
  FILE *fp;
  size_t n;
  int r;

  memset (info, 0, sizeof *info);
  fp = fopen (file, "re");
  if (fp == NULL)
    return -errno;
  errno = 0;
  while ((n = fread (page, 1, sizeof page, fp)) == sizeof page) {
    info->nr_pages++;
    if (ctl_page_same_filled (page, &word)) {
      info->nr_same_filled++;
      info->nr_zero += word == 0;
    }
  }
  info->nr_rest_bytes = n;
  r = ferror (fp) ? -errno : 0;
  fclose (fp);
  return r;
}
