/* SPDX-License-Identifier: BSD-3-Clause */
/* LZ4 blocks.  Level is the acceleration, as in zram. */
#include <config.h>

#include <assert.h>
#include <errno.h>

#include <lz4.h>

#include "codec-internal.h"
#include "zspage-page.h"

static struct codec_level_range
levels (void)
{
  return (struct codec_level_range){.min = 1, .max = 65537, .dflt = 1};
}

static size_t
compress_bytes (int level)
{
  (void) level;
  return LZ4_sizeofState ();
}

static int
compress_setup (void *mem, size_t bytes, int level)
{
  (void) mem;
  (void) bytes;
  (void) level;
  return 0;
}

/* Told of all the room there is, as LZ4 is faster where it need not look at how
 * much is left.
 */
static size_t
compress (void *mem, int level, const void *dict, const void *page, void *out,
          size_t max_len)
{
  size_t len;

  static_assert (CODEC_OUTPUT_BYTES >= LZ4_COMPRESSBOUND (ZSPAGE_PAGE_SIZE),
                 "");
  (void) dict;
  len = LZ4_compress_fast_extState (mem, page, out, ZSPAGE_PAGE_SIZE,
                                    CODEC_OUTPUT_BYTES, level);
  return len > max_len ? 0 : len;
}

static int
decompress (void *mem, const void *dict, const void *data, size_t len,
            void *scratch, void *page)
{
  (void) mem;
  (void) dict;
  (void) scratch;
  if (LZ4_decompress_safe (data, page, len, ZSPAGE_PAGE_SIZE) !=
      (int) ZSPAGE_PAGE_SIZE)
    return -EIO;
  return 0;
}

const struct codec_ops codec_lz4 = {
  .name = "lz4",
  .levels = levels,
  .compress_bytes = compress_bytes,
  .compress_setup = compress_setup,
  .compress = compress,
  .decompress = decompress,
};
