/* SPDX-License-Identifier: BSD-3-Clause */
/* Data as a damaged or hostile arena has them: the first byte chooses the
 * codec, the rest is decompressed.  What is decompressed must compress again
 * to the same page, and a context must be as good after bad data as before.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "fuzz.h"
#include "zspage-page.h"

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

static struct codec_pool *pools[CODEC_COUNT];

static void
round_trip (struct codec_ctx *ctx, enum codec_id id, const uint8_t *page)
{
  uint8_t back[ZSPAGE_PAGE_SIZE];
  const void *out;
  size_t len = codec_compress (ctx, NULL, page, ZSPAGE_PAGE_SIZE - 1, &out);

  if (len == 0)
    return;
  MUST (codec_decompress (ctx, id, NULL, out, len, back) == 0);
  MUST (memcmp (back, page, sizeof back) == 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  uint8_t page[ZSPAGE_PAGE_SIZE], fill[ZSPAGE_PAGE_SIZE];
  struct codec_ctx *ctx;
  enum codec_id id;
  uint64_t value;
  int i, r;

  if (size == 0)
    return 0;
  for (i = 0; i < CODEC_COUNT && pools[i] == NULL; ++i)
    MUST (codec_pool_create (i, codec_levels (i).dflt, 1, &pools[i]) == 0);
  id = data[0] % CODEC_COUNT;
  ctx = codec_get (pools[id]);
  memset (page, data[0], sizeof page);
  r = codec_decompress (ctx, id, NULL, data + 1, size - 1, page);
  MUST (r == 0 || r == -EIO);
  if (r < 0)
    memset (page, 'x', sizeof page);
  round_trip (ctx, id, page);
  if (codec_same_filled (page, &value)) {
    codec_fill (fill, value);
    MUST (memcmp (fill, page, sizeof page) == 0);
  }
  codec_put (ctx);
  return 0;
}
