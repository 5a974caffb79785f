/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the table of attributes, which are those of the server's
 * /devices/NAME, in its order.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "client.h"

const struct ctl_attribute ctl_attributes[] = {
  {"mm_stat", true, false, false, "zram's line of nine figures of memory"},
  {"io_stat", true, false, false, "zram's line of four figures of requests"},
  {"bd_stat", true, false, false, "zram's line on its backing device"},
  {"debug_stat", true, false, false, "zram's lines for developers"},
  {"classes", true, false, false, "zsmalloc's table of size classes"},
  {"block_state", true, false, true, "a line for each page that is stored"},
  {"stats.json", true, false, false, "all figures, as JSON"},
  {"disksize", true, false, false, "size of the device, bytes"},
  {"initstate", true, false, false, "1: the device is set up"},
  {"comp_algorithm", true, false, false,
   "the algorithms, the one in use in brackets"},
  {"algorithm_params", true, false, false, "its parameters, such as level=1"},
  {"recomp_algorithm", true, false, false,
   "what pages are recompressed with, if they are"},
  {"recompress", false, true, true,
   "set to type=huge_idle or so: recompress such pages now"},
  {"dictionaries", true, false, false, "a line for each dictionary"},
  {"dictionary", true, true, true,
   "the newest, as bytes; set to train: look for a better one"},
  {"state", true, false, false,
   "the file that keeps the pages, and what was found in it"},
  {"mem_limit", true, true, false,
   "most memory for pages, such as 512M; 0 is no limit"},
  {"mem_used_max", false, true, false,
   "set to 0: MEM-USED begins anew at what is used now"},
  {"compact", false, true, true, "set to 1: compact now"},
  {"idle", false, true, true,
   "set to all: mark each page idle, until it is used"},
  {"reset", false, true, true, "set to 1: forget all pages"},
  {.name = NULL},
};

unsigned
ctl_attribute_timeout_s (const char *name)
{
  const struct ctl_attribute *a;

  for (a = ctl_attributes; a->name != NULL; a++) {
    if (strcmp (a->name, name) == 0 && a->is_slow)
      return CTL_LONG_TIMEOUT_S;
  }
  return CTL_TIMEOUT_S;
}

char *
ctl_attribute_names (bool to_set)
{
  const struct ctl_attribute *a;
  char *names = NULL;
  size_t len;
  FILE *fp = open_memstream (&names, &len);

  if (fp == NULL)
    return NULL;
  for (a = ctl_attributes; a->name != NULL; a++) {
    if (to_set ? a->can_set : a->can_get)
      fprintf (fp, "%s%s", ftello (fp) > 0 ? " " : "", a->name);
  }
  if (fclose (fp) == EOF) {
    free (names);
    return NULL;
  }
  return names;
}
