/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether data are still what they were. */
#include <config.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codec-internal.h"

uint64_t
codec_hash (const void *data, size_t len)
{
#ifdef CODEC_AVX2
  if (__builtin_cpu_supports ("avx2"))
    return codec_hash_avx2 (data, len);
#endif
  return XXH3_64bits (data, len);
}

uint8_t
codec_checksum (const void *data, size_t len)
{
  return codec_hash (data, len);
}
