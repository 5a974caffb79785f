/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast what is not reading or writing goes, and what memory alone would take
 * for it.  engine-bench.c says what is in each figure.
 */
#ifndef BENCH_ENGINE_RATES_H
#define BENCH_ENGINE_RATES_H

#include "engine.h"

/* ns of each page, or object, or whatever is counted. */
struct timing {
  double ours;
  double kernel; /* of ours: in calls that give memory or take it back */
  double limit;
};

/* Those of a store that is to have its time in the kernel counted. */
extern const struct arena_ops rates_ops;

/* ns of CPU time in these since the last call. */
double rates_kernel_ns (void);

/* Have the processor's caches full of something else. */
void rates_cool (const struct engine_pages *pages);

/* Trim pages 0..nr-1. */
struct timing rates_trim (struct store *store,
                          const struct engine_pages *pages);

struct rates_compaction {
  struct timing timing; /* an object */
  double object_bytes;  /* that were copied, an object */
  uint64_t nr_objects, nr_pages_freed;
  struct store_stats before, after;
};

/* Trim a random half of the pages one by one, and compact what is left. */
void rates_compact (struct store *store, const struct engine_pages *pages,
                    struct rates_compaction *is);

/* A file with all the pages, in a directory; it is removed at exit. */
void rates_file_make (const char *dir, const struct engine_pages *pages,
                      struct codec_pool *codec);

/* Elapsed time.  The limit is touching the table, and with_objects their
 * headers.
 */
struct timing rates_recover (const struct engine_pages *pages,
                             struct codec_pool *codec, bool with_objects);

#endif /* BENCH_ENGINE_RATES_H */
