/* SPDX-License-Identifier: BSD-3-Clause */
/* Dictionaries; see dictionary.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#define ZDICT_STATIC_LINKING_ONLY
#include <zdict.h>
#include <zstd.h>

#include "codec-internal.h"
#include "zspage-page.h"

/* Of the trainer: segments of 256 bytes, told apart by hashes of 8. */
#define SEGMENT_BYTES 256
#define HASHED_BYTES  8
#define HASH_LOG      18

/* A digest for a strong level is mostly tables, and larger than the dictionary
 * by far; no larger ones are of use for so few bytes.
 */
#define DIGEST_LOG_MAX 15u

struct digest {
  int level;
  ZSTD_CDict *cdict; /* NULL: none */
};

struct dictionary {
  ZSTD_DDict *ddict;
  struct digest digests[2];
  size_t len;
  uint8_t bytes[];
};

static ZSTD_CDict *
digest_with (const struct dictionary *d, ZSTD_compressionParameters p)
{
  if (p.hashLog > DIGEST_LOG_MAX)
    p.hashLog = DIGEST_LOG_MAX;
  if (p.chainLog > DIGEST_LOG_MAX)
    p.chainLog = DIGEST_LOG_MAX;
  return ZSTD_createCDict_advanced (d->bytes, d->len, ZSTD_dlm_byRef,
                                    ZSTD_dct_fullDict, p, ZSTD_defaultCMem);
}

/* Whether a context of that level, which was made for pages without dictionaries,
 * has the room that this one asks for.
 */
static bool
digest_fits (const ZSTD_CDict *cdict, int level)
{
  size_t bytes = codec_zstd.compress_bytes (level), len = 0;
  uint8_t page[ZSPAGE_PAGE_SIZE] = {0}, out[ZSPAGE_PAGE_SIZE];
  void *ctx;

  if (posix_memalign (&ctx, 64, bytes) != 0)
    return false;
  if (codec_zstd.compress_setup (ctx, bytes, level) == 0)
    len =
      codec_zstd.compress (ctx, level, cdict, page, out, ZSPAGE_PAGE_SIZE - 1);
  free (ctx);
  return len > 0;
}

/* A dictionary asks for another strategy than pages alone, which is better if a
 * context has the room for it.
 */
static ZSTD_CDict *
digest (const struct dictionary *d, int level)
{
  ZSTD_compressionParameters p =
    ZSTD_getCParams (level, ZSPAGE_PAGE_SIZE, d->len);
  ZSTD_CDict *cdict = digest_with (d, p);

  if (cdict && !digest_fits (cdict, level)) {
    ZSTD_freeCDict (cdict);
    p.strategy = ZSTD_getCParams (level, ZSPAGE_PAGE_SIZE, 0).strategy;
    cdict = digest_with (d, p);
    if (cdict && !digest_fits (cdict, level)) {
      ZSTD_freeCDict (cdict);
      cdict = NULL;
    }
  }
  return cdict;
}

int
dictionary_create (const void *bytes, size_t len, int level,
                   struct dictionary **out, const char **why)
{
  struct dictionary *d;

  if (len < DICTIONARY_MIN || len > DICTIONARY_MAX) {
    *why = len < DICTIONARY_MIN ? "too short" : "too long";
    return -EMSGSIZE;
  }
  if (ZDICT_getDictID (bytes, len) == 0) {
    *why = "not a dictionary of zstd";
    return -EINVAL;
  }
  if (ZDICT_isError (ZDICT_getDictHeaderSize (bytes, len))) {
    *why = "damaged";
    return -EINVAL;
  }
  d = calloc (1, sizeof *d + len);
  if (d == NULL) {
    *why = "out of memory";
    return -ENOMEM;
  }
  d->len = len;
  memcpy (d->bytes, bytes, len);
  d->ddict = ZSTD_createDDict_byReference (d->bytes, len);
  d->digests[0] = (struct digest){level, digest (d, level)};
  if (d->ddict == NULL || d->digests[0].cdict == NULL) {
    dictionary_destroy (d);
    *why = "damaged, or out of memory";
    return -EINVAL;
  }
  *out = d;
  return 0;
}

void
dictionary_destroy (struct dictionary *d)
{
  if (d == NULL)
    return;
  ZSTD_freeDDict (d->ddict);
  ZSTD_freeCDict (d->digests[0].cdict);
  ZSTD_freeCDict (d->digests[1].cdict);
  free (d);
}

int
dictionary_add_level (struct dictionary *d, int level)
{
  if (d->digests[0].level == level ||
      (d->digests[1].cdict && d->digests[1].level == level))
    return 0;
  dictionary_drop_level (d);
  d->digests[1] = (struct digest){level, digest (d, level)};
  return d->digests[1].cdict ? 0 : -ENOMEM;
}

void
dictionary_drop_level (struct dictionary *d)
{
  ZSTD_freeCDict (d->digests[1].cdict);
  d->digests[1].cdict = NULL;
}

const void *
dictionary_bytes (const struct dictionary *d, size_t *len)
{
  *len = d->len;
  return d->bytes;
}

uint32_t
dictionary_id (const struct dictionary *d)
{
  return ZDICT_getDictID (d->bytes, d->len);
}

size_t
dictionary_memory (const struct dictionary *d)
{
  return sizeof *d + d->len + ZSTD_sizeof_DDict (d->ddict) +
         ZSTD_sizeof_CDict (d->digests[0].cdict) +
         ZSTD_sizeof_CDict (d->digests[1].cdict);
}

const void *
dictionary_for_compressing (const struct dictionary *d, int level)
{
  return d->digests[0].level == level   ? d->digests[0].cdict
         : d->digests[1].level == level ? d->digests[1].cdict
                                        : NULL;
}

const void *
dictionary_for_decompressing (const struct dictionary *d)
{
  return d->ddict;
}

size_t
dictionary_train (const void *pages, size_t nr_pages, void *out)
{
  ZDICT_fastCover_params_t params = {
    .k = SEGMENT_BYTES, .d = HASHED_BYTES, .f = HASH_LOG, .accel = 1};
  size_t *sizes, len, i;

  if (nr_pages == 0 || nr_pages > UINT32_MAX)
    return 0;
  sizes = malloc (nr_pages * sizeof *sizes);
  if (sizes == NULL)
    return 0;
  for (i = 0; i < nr_pages; ++i)
    sizes[i] = ZSPAGE_PAGE_SIZE;
  len = ZDICT_trainFromBuffer_fastCover (out, DICTIONARY_TRAINED, pages, sizes,
                                         nr_pages, params);
  free (sizes);
  return ZDICT_isError (len) ? 0 : len;
}
