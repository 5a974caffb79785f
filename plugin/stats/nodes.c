/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts that a device has, by name. */
#include <config.h>

#include <string.h>

#include "stats.h"

const struct stats_node stats_nodes[] = {
  {"mm_stat", "zram's mm_stat: one line of nine figures", stats_mm_stat},
  {"io_stat", "zram's io_stat: one line of four figures", stats_io_stat},
  {"classes", "zsmalloc's classes: a line for each size class", stats_classes},
  {"stats.json", "all figures as JSON", stats_json},
  {.name = NULL},
};

const struct stats_node *
stats_node_by_name (const char *name)
{
  const struct stats_node *node;

  for (node = stats_nodes; node->name; ++node)
    if (strcmp (node->name, name) == 0)
      return node;
  return NULL;
}
