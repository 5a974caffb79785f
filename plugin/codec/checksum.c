/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether data are still what they were. */
#include <config.h>

#include <xxhash.h>

#include "codec.h"

uint64_t
codec_hash (const void *data, size_t len)
{
  return XXH3_64bits (data, len);
}

uint8_t
codec_checksum (const void *data, size_t len)
{
  return codec_hash (data, len);
}
