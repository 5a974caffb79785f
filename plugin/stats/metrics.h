/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of figures: name, unit and help of each, from which the zram
 * texts, the JSON and the NBD description are made, and against which the
 * manual is checked.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "store.h"

enum metric_unit {
  UNIT_BYTES,
  UNIT_PAGES, /* of 4096 bytes */
  UNIT_SECONDS,
  UNIT_COUNT, /* of events */
};

enum metric_group {
  GROUP_MM_STAT,     /* in the order of zram's mm_stat */
  GROUP_IO_STAT,     /* in the order of zram's io_stat */
  GROUP_MEMORY,      /* what zram leaves out */
  GROUP_COMPRESSION, /* by what pages are compressed, and again */
  GROUP_STATE,       /* of the file that keeps them */
  GROUP_COUNT,
};

struct metric {
  const char *name;   /* zram's, where it has it */
  const char *family; /* in /metrics, after zspage_; counters add _total */
  enum metric_group group;
  enum metric_unit unit;
  int is_counter; /* only grows, until the server ends */
  size_t offset;  /* of a uint64_t in struct store_stats */
  const char *help;
  int of_server; /* the same for all devices */
};

/* Ordered by group, then as printed; ends with a name of NULL. */
extern const struct metric metrics[];

const char *metric_group_name (enum metric_group group);
const char *metric_unit_name (enum metric_unit unit);

static inline uint64_t
metric_value (const struct metric *metric, const struct store_stats *stats)
{
  return *(const uint64_t *) ((const char *) stats + metric->offset);
}

#endif /* METRICS_H */
