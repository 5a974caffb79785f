/* SPDX-License-Identifier: BSD-3-Clause */
/* zstd frames, as short as they get: no magic, content size, checksum or
 * dictionary ID, since the slot word says all that.
 *
 * Contexts are static, sized for one page: 74-90 kB instead of about 1 MB.
 */
#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "codec-internal.h"
#include "zspage-page.h"

static struct codec_level_range
levels (void)
{
  /* zram's default is zstd's own. */
  return (struct codec_level_range){.min = ZSTD_minCLevel (),
                                    .max = ZSTD_maxCLevel (),
                                    .dflt = ZSTD_CLEVEL_DEFAULT};
}

static size_t
compress_bytes (int level)
{
  return ZSTD_estimateCCtxSize_usingCParams (
    ZSTD_getCParams (level, ZSPAGE_PAGE_SIZE, 0));
}

static bool
set (ZSTD_CCtx *cctx, ZSTD_cParameter param, int value)
{
  return !ZSTD_isError (ZSTD_CCtx_setParameter (cctx, param, value));
}

static int
compress_setup (void *mem, size_t bytes, int level)
{
  ZSTD_compressionParameters p = ZSTD_getCParams (level, ZSPAGE_PAGE_SIZE, 0);
  ZSTD_CCtx *cctx = ZSTD_initStaticCCtx (mem, bytes);

  if (cctx == NULL)
    return -ENOMEM;
  /* A static context does not start at offset 0 of its memory, but it must,
   * as that is all that compress is given.
   */
  if ((void *) cctx != mem ||
      !set (cctx, ZSTD_c_format, ZSTD_f_zstd1_magicless) ||
      !set (cctx, ZSTD_c_contentSizeFlag, 0) ||
      !set (cctx, ZSTD_c_checksumFlag, 0) ||
      !set (cctx, ZSTD_c_dictIDFlag, 0) ||
      !set (cctx, ZSTD_c_windowLog, p.windowLog) ||
      !set (cctx, ZSTD_c_hashLog, p.hashLog) ||
      !set (cctx, ZSTD_c_chainLog, p.chainLog) ||
      !set (cctx, ZSTD_c_searchLog, p.searchLog) ||
      !set (cctx, ZSTD_c_minMatch, p.minMatch) ||
      !set (cctx, ZSTD_c_targetLength, p.targetLength) ||
      !set (cctx, ZSTD_c_strategy, p.strategy))
    return -EINVAL;
  return 0;
}

static size_t
compress (void *mem, int level, const void *dict, const void *page, void *out,
          size_t max_len)
{
  size_t r;

  (void) level;
  /* What did not fit last time is still going on. */
  ZSTD_CCtx_reset (mem, ZSTD_reset_session_only);
  r = ZSTD_CCtx_refCDict (mem, dict);
  if (!ZSTD_isError (r))
    r = ZSTD_compress2 (mem, out, max_len, page, ZSPAGE_PAGE_SIZE);
  return ZSTD_isError (r) ? 0 : r;
}

static size_t
decompress_bytes (void)
{
  return ZSTD_estimateDCtxSize ();
}

static int
decompress_setup (void *mem, size_t bytes)
{
  ZSTD_DCtx *dctx = ZSTD_initStaticDCtx (mem, bytes);

  if (dctx == NULL)
    return -ENOMEM;
  if ((void *) dctx != mem || ZSTD_isError (ZSTD_DCtx_setParameter (
                                dctx, ZSTD_d_format, ZSTD_f_zstd1_magicless)))
    return -EINVAL;
  return 0;
}

/* With a dictionary: by way of the scratch page, as ZSTD_decompressDCtx takes
 * what follows a frame for another one, and reads 4 bytes of it though there may
 * be 1.
 */
static int
decompress_with (void *mem, const void *dict, const void *data, size_t len,
                 uint8_t *scratch, void *page)
{
  memcpy (scratch, data, len);
  if (ZSTD_isError (ZSTD_DCtx_refDDict (mem, dict)) ||
      ZSTD_decompressDCtx (mem, page, ZSPAGE_PAGE_SIZE, scratch, len) !=
        ZSPAGE_PAGE_SIZE)
    return -EIO;
  return 0;
}

/* Step by step, which reads no more than there is. */
static int
decompress (void *mem, const void *dict, const void *data, size_t len,
            void *scratch, void *page)
{
  const uint8_t *in = data;
  uint8_t *out = page;
  size_t room = ZSPAGE_PAGE_SIZE, need, n;

  if (dict)
    return len < ZSPAGE_PAGE_SIZE - 4
             ? decompress_with (mem, dict, data, len, scratch, page)
             : -EIO;
  if (ZSTD_isError (ZSTD_decompressBegin (mem)))
    return -EIO;
  while ((need = ZSTD_nextSrcSizeToDecompress (mem)) > 0) {
    if (need > len)
      return -EIO;
    n = ZSTD_decompressContinue (mem, out, room, in, need);
    if (ZSTD_isError (n))
      return -EIO;
    in += need;
    len -= need;
    out += n;
    room -= n;
  }
  return len == 0 && room == 0 ? 0 : -EIO;
}

const struct codec_ops codec_zstd = {
  .name = "zstd",
  .levels = levels,
  .compress_bytes = compress_bytes,
  .compress_setup = compress_setup,
  .compress = compress,
  .decompress_bytes = decompress_bytes,
  .decompress_setup = decompress_setup,
  .decompress = decompress,
};
