/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs that measure the engine without nbdkit share: pages, clocks,
 * medians, stores, and bare LZ4.
 *
 * What fails ends the program, and says so.
 */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include "store-internal.h"

/* More than LZ4 makes of any page. */
#define ENGINE_OUT_BYTES 4608u

/* Pages none of which repeats one word: such a page we do not compress, and LZ4
 * would look bad.
 */
struct engine_pages {
  uint8_t *data; /* free it */
  size_t nr, nr_same;
};

/* Of a file of raw pages; nr_same: that were left out. */
void engine_pages_load (struct engine_pages *pages, const char *path);

static inline const uint8_t *
engine_page (const struct engine_pages *pages, size_t i)
{
  return pages->data + i * ZSPAGE_PAGE_SIZE;
}

/* r is 0 or -errno. */
void engine_must (int r, const char *what);

/* malloc. */
void *engine_alloc (size_t bytes);

/* 0..nr-1 in some order; free it. */
uint64_t *engine_shuffled (size_t nr, uint64_t seed);

/* CPU time of this thread, of all threads, and elapsed time. */
double engine_cpu_ns (void);
double engine_process_ns (void);
double engine_elapsed_ns (void);

/* Call work on each of nr (at most ENGINE_THREADS) objects of so many bytes, in a
 * thread each, all at once.  Elapsed ns until the last is done.
 */
#define ENGINE_THREADS 64u
double engine_threads_ns (unsigned nr, void (*work) (void *object),
                          void *objects, size_t bytes);

double engine_median (const double *values, unsigned nr);

/* The median of a[i] / b[i]: this machine's speed drifts. */
double engine_median_ratio (const double *a, const double *b, unsigned nr);

/* An empty store of at least so many pages, in whole pages of the slot table.
 * ops: NULL = libc's.
 */
struct store *engine_store (uint64_t nr_pages, struct codec_pool *codec,
                            const struct arena_ops *ops);

/* A store in a file, which is made if there is none. */
struct store *engine_store_open (const char *path, uint64_t nr_pages,
                                 struct codec_pool *codec);

void engine_write (struct store *store, uint64_t idx, const void *page);
void engine_read (struct store *store, uint64_t idx, void *page);

/* ms, of mapping the slot table of a file afresh and adding it up, and, if that
 * is asked for, the header of each object too, in the order of slots.
 */
double engine_file_touch (const char *path, bool with_objects);

/* The state of LZ4; free it. */
void *engine_lz4_state (void);

/* out has room for ENGINE_OUT_BYTES. */
void engine_bare_compress (void *state, const void *page, char *out);

/* Decompress, or if it is huge copy, the object that the store itself has. */
void engine_bare_decompress (struct store *store, uint64_t idx, char *page);

#endif /* BENCH_ENGINE_H */
