/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's statistics and attributes, as text. */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "chore.h"
#include "store.h"

/* What statistics are about. */
struct stats_device {
  const char *name;
  struct store *store;
  const char *comp_algorithm;
  int level;
  int recomp_level;    /* of zstd, for recompressing; 0: that is not done */
  unsigned nr_clients; /* that have the device itself open */
  /* Before a reset: let no client in until its end.  0, or -EBUSY. */
  int (*reset_begin) (void *opaque);
  void (*reset_end) (void *opaque);
  void *opaque;
};

/* The devices there are: they may become more, but none goes. */
struct stats_devices {
  void *opaque;
  size_t (*nr) (void *opaque);
  struct stats_device (*get) (void *opaque, size_t i);
};

enum stats_special {
  STATS_USUAL,
  STATS_LONG,
  STATS_LOOP,
  STATS_DICTIONARY,
};

/* An attribute of a device, as zram has in sysfs: a small read-only export
 * over NBD, /devices/NAME/ATTRIBUTE over HTTP.
 */
struct stats_node {
  const char *name;
  const char *help;
  /* What reading it gives: a string that the caller frees; NULL: no memory.
   * NULL here: it cannot be read.
   */
  char *(*read) (const struct stats_device *device);
  /* Writing text, which may be anything, to it.  0; or -EINVAL, -EBUSY and in
   * why a sentence that says what is wrong and what is allowed.  NULL here: it
   * cannot be written.  With a job it only prepares that, and fills in the rest
   * of the order.
   */
  int (*write) (const struct stats_device *device, const char *text,
                struct chore_order *order, char *why, size_t why_size);
  /* What writing it is the order for; JOB_RESET wants reset_end after it. */
  bool has_job;
  enum chore_job job;
  /* By HTTP only, and made there: too long to be made in one piece, or bytes of
   * pages, which are for who may write, too; or of the loop thread.
   */
  enum stats_special special;
};

/* Ends with a name of NULL. */
extern const struct stats_node stats_nodes[];

/* NULL if there is no node of that name. */
const struct stats_node *stats_node_by_name (const char *name);

/* zram's texts, in its order and widths. */
char *stats_mm_stat (const struct stats_device *device);
char *stats_io_stat (const struct stats_device *device);
char *stats_bd_stat (const struct stats_device *device);
char *stats_debug_stat (const struct stats_device *device);
/* zsmalloc's `classes`, many lines. */
char *stats_classes (const struct stats_device *device);
/* A line for each dictionary.  On the loop thread. */
char *stats_dictionaries (const struct stats_device *device);
/* A line for each stored page. */
char *stats_block_state (const struct stats_device *device);
/* Rows of it from page *page on, as many as there is room for in buf, and move
 * on *page.  Returns bytes; 0 at the end.
 */
#define BLOCK_STATE_ROW_BYTES 40
size_t stats_block_state_part (struct store *store, uint64_t *page, char *buf,
                               size_t size);
/* All figures, an object for each group of the table. */
char *stats_json (const struct stats_device *device);

/* The same as a value, and of all devices; NULL: no memory. */
json_t *stats_json_value (const struct stats_device *device);
char *stats_json_devices (const struct stats_devices *devices);

/* Every metric of every device, in Prometheus' text format 0.0.4, or in
 * OpenMetrics 1.0.  As the read of a node.
 */
char *stats_metrics (const struct stats_devices *devices, bool openmetrics);

/* One line for people: the headline, then mm_stat by name.  At most 4095
 * bytes, as NBD wants it.
 */
char *stats_describe (const struct stats_device *device);

/* What zram's recompress takes, as type=huge_idle threshold=2000: into the order.
 * 0; or -EINVAL and why, as the write of a node.
 */
int stats_recompress_parse (const char *text, struct chore_order *order,
                            char *why, size_t why_size);

/* A size as zram takes it: a number, and K, M, G, T or P.  0 or -EINVAL. */
int stats_size_parse (const char *text, uint64_t *bytes);

#endif /* STATS_H */
