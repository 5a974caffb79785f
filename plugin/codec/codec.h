/* SPDX-License-Identifier: BSD-3-Clause */
/* Compression of single pages of 4096 bytes.
 *
 * Contexts are made beforehand, in one mapping, a few for each processor and
 * not one for each thread, as nbdkit makes 16 threads a connection.  Nothing
 * here allocates after codec_pool_create.
 */
#ifndef CODEC_H
#define CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dictionary.h"

enum codec_id {
  CODEC_LZ4,
  CODEC_ZSTD,
  CODEC_COUNT,
};

/* zram's name of the algorithm: "lz4", "zstd". */
const char *codec_name (enum codec_id id);

/* The codec of that name; false if there is none. */
bool codec_by_name (const char *name, enum codec_id *id);

/* zram's `level`: for lz4 the acceleration (larger is faster and worse), for
 * zstd the compression level (larger is slower and better).
 */
struct codec_level_range {
  int min, max, dflt;
};
struct codec_level_range codec_levels (enum codec_id id);

/* Levels of zstd with comp_algorithm=auto: when memory becomes short, and of
 * recompression.
 */
#define AUTO_LEVEL_DENSE  1
#define AUTO_LEVEL_STRONG 6

struct codec_pool;
struct codec_ctx;

/* Make contexts for compressing with this codec and level, and for
 * decompressing any codec.  nr is the number of contexts, which bounds how
 * many threads are inside a codec at once; 0 means two for each processor.
 * -EINVAL: the level is out of range.  -ENOMEM.
 */
int codec_pool_create (enum codec_id id, int level, unsigned nr,
                       struct codec_pool **pool);
void codec_pool_destroy (struct codec_pool *pool);

enum codec_id codec_pool_id (const struct codec_pool *pool);
int codec_pool_level (const struct codec_pool *pool);

/* Memory of all the contexts, bytes; what was never used has no pages. */
size_t codec_pool_bytes (const struct codec_pool *pool);

/* Touch all memory of the contexts that the pool's own codec uses; or any. */
void codec_pool_warm (struct codec_pool *pool, bool any);

/* Borrow a context.  Waits for one if all are in use; lock rank RANK_CODEC, so
 * take it before a slot lock.  Give it back from the same thread, soon.
 */
struct codec_ctx *codec_get (struct codec_pool *pool);
void codec_put (struct codec_ctx *ctx);

/* Wait until every thread that has a context now has given it back. */
void codec_quiesce (struct codec_pool *pool);

/* That of its pool. */
enum codec_id codec_ctx_id (const struct codec_ctx *ctx);

/* Compress a page with the pool's codec.  dictionary: NULL, or one that is
 * digested for the pool's level, if the codec is zstd.  Returns the length and
 * sets *out to the data, which belong to ctx until its next use; or 0 if they
 * would be longer than max_len bytes (at most 4095, or 4091 with a dictionary).
 */
size_t codec_compress (struct codec_ctx *ctx,
                       const struct dictionary *dictionary, const void *page,
                       size_t max_len, const void **out);

/* Whether decompressing data of this codec needs a context. */
bool codec_decompress_needs_ctx (enum codec_id id);

/* Decompress len bytes to exactly one page.  The dictionary is that with which
 * they were compressed, or NULL.  ctx may be NULL if it is not needed; what
 * codec_compress made in it is gone.  -EIO: the data are not what a compressor
 * of this codec makes of one page; the page's content is undefined then.  Hostile
 * data do no harm.
 */
int codec_decompress (struct codec_ctx *ctx, enum codec_id id,
                      const struct dictionary *dictionary, const void *data,
                      size_t len, void *page);

/* Whether the page repeats one 8-byte word, and which. */
bool codec_same_filled (const void *page, uint64_t *value);

/* Fill a page with a repeated word. */
void codec_fill (void *page, uint64_t value);

/* XXH3, 64 bits. */
uint64_t codec_hash (const void *data, size_t len);

/* A checksum of data as they are stored: the low byte of that, so that damage
 * goes unnoticed once in 256 times.
 */
uint8_t codec_checksum (const void *data, size_t len);

#endif /* CODEC_H */
