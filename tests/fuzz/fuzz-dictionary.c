/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are said to be dictionaries.  What is taken for one must do: a page
 * comes back from it, and data that were not made with it do no harm.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "fuzz.h"
#include "zspage-page.h"

#define LEVEL 1
#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

static struct codec_pool *pool;

/* A page in which there is something of the dictionary. */
static void
page_make (const uint8_t *data, size_t size, uint8_t *page)
{
  size_t i;

  for (i = 0; i < ZSPAGE_PAGE_SIZE; ++i)
    page[i] = i % 64 < 48 ? data[(i * 7 / 64 * 64 + i) % size] : i / 64;
}

static void
try (const struct dictionary *d, const uint8_t *data, size_t size)
{
  struct codec_ctx *ctx = codec_get (pool);
  uint8_t page[ZSPAGE_PAGE_SIZE], back[ZSPAGE_PAGE_SIZE], *copy;
  const void *out;
  size_t len;
  int r;

  page_make (data, size, page);
  len = codec_compress (ctx, d, page, ZSPAGE_PAGE_SIZE - 5, &out);
  if (len > 0) {
    copy = malloc (len);
    MUST (copy);
    memcpy (copy, out, len);
    MUST (codec_decompress (ctx, CODEC_ZSTD, d, copy, len, back) == 0);
    MUST (memcmp (back, page, sizeof page) == 0);
    free (copy);
  }
  r = codec_decompress (ctx, CODEC_ZSTD, d, data,
                        size < ZSPAGE_PAGE_SIZE ? size : ZSPAGE_PAGE_SIZE - 1,
                        back);
  MUST (r == 0 || r == -EIO);
  codec_put (ctx);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct dictionary *d = NULL;
  const char *why = NULL;
  int r;

  if (pool == NULL)
    MUST (codec_pool_create (CODEC_ZSTD, LEVEL, 1, &pool) == 0);
  r = dictionary_create (data, size, LEVEL, &d, &why);
  if (r < 0) {
    MUST (why && (r == -EINVAL || r == -EMSGSIZE || r == -ENOMEM));
    return 0;
  }
  try (d, data, size);
  dictionary_destroy (d);
  return 0;
}
