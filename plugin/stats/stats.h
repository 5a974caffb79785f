/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's statistics as text: what its read-only exports hold. */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>

#include "store.h"

/* What statistics are about. */
struct stats_device {
  const char *name;
  struct store *store;
  const char *comp_algorithm;
  int level;
};

/* A text that a device has, by the name that it has in exports. */
struct stats_node {
  const char *name;
  const char *help;
  /* Returns a string that the caller frees; NULL: no memory. */
  char *(*render) (const struct stats_device *device);
};

/* Ends with a name of NULL. */
extern const struct stats_node stats_nodes[];

/* NULL if there is no node of that name. */
const struct stats_node *stats_node_by_name (const char *name);

/* zram's texts, in its order and widths, one line. */
char *stats_mm_stat (const struct stats_device *device);
char *stats_io_stat (const struct stats_device *device);
/* zsmalloc's `classes`, many lines. */
char *stats_classes (const struct stats_device *device);
/* All figures, an object for each group of the table. */
char *stats_json (const struct stats_device *device);

/* One line for people: the headline, then mm_stat by name.  At most 4095
 * bytes, as NBD wants it.
 */
char *stats_describe (const struct stats_device *device);

#endif /* STATS_H */
