/* SPDX-License-Identifier: BSD-3-Clause */
/* Training; see trainer.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "trainer.h"
#include "zspage-page.h"

#define HELD_OUT_ONE_IN 8u

static const uint8_t *
page_of (const struct training *t, size_t i)
{
  return t->pages + i * ZSPAGE_PAGE_SIZE;
}

/* What the pages held out take, by the store's classes. */
static uint64_t
bytes_with (const struct training *t, struct codec_ctx *ctx,
            const struct dictionary *dictionary)
{
  uint64_t bytes = 0;
  const void *out;
  size_t i, len;

  for (i = 0; i < t->nr_pages; i += HELD_OUT_ONE_IN) {
    len = codec_compress (ctx, dictionary, page_of (t, i), ZSPAGE_PAGE_SIZE - 5,
                          &out);
    bytes += store_class_bytes (t->store, len ? len : ZSPAGE_PAGE_SIZE);
  }
  return bytes;
}

static struct dictionary *
train (const struct training *t)
{
  uint8_t *pages = malloc (t->nr_pages * ZSPAGE_PAGE_SIZE);
  uint8_t *bytes = malloc (DICTIONARY_TRAINED);
  struct dictionary *dictionary = NULL;
  size_t i, n = 0, len;
  const char *why;

  if (pages && bytes) {
    for (i = 0; i < t->nr_pages; ++i)
      if (i % HELD_OUT_ONE_IN != 0)
        memcpy (pages + n++ * ZSPAGE_PAGE_SIZE, page_of (t, i),
                ZSPAGE_PAGE_SIZE);
    len = dictionary_train (pages, n, bytes);
    if (len == 0 || dictionary_create (bytes, len, t->level, &dictionary, &why))
      dictionary = NULL;
  }
  free (bytes);
  free (pages);
  return dictionary;
}

/* A dictionary, as it is used at the level that matters; NULL of NULL. */
static int
copy_to_judge (const struct training *t, const struct dictionary *dictionary,
               struct dictionary **copy)
{
  const void *bytes;
  const char *why;
  size_t len;

  *copy = NULL;
  if (dictionary == NULL)
    return 0;
  bytes = dictionary_bytes (dictionary, &len);
  return dictionary_create (bytes, len, t->judge_level, copy, &why);
}

/* Whether it gains enough. */
static bool
judge (struct training *t, struct codec_pool *pool,
       const struct dictionary *dictionary)
{
  struct dictionary *before, *after;
  struct codec_ctx *ctx;

  if (copy_to_judge (t, t->now, &before) < 0)
    return false;
  if (copy_to_judge (t, dictionary, &after) < 0) {
    dictionary_destroy (before);
    return false;
  }
  ctx = codec_get (pool);
  t->bytes_before = bytes_with (t, ctx, before);
  t->bytes_after = bytes_with (t, ctx, after);
  codec_put (ctx);
  dictionary_destroy (before);
  dictionary_destroy (after);
  return t->bytes_after * 100 <= t->bytes_before * (100 - TRAINER_MARGIN);
}

void
trainer_run (struct training *t)
{
  struct dictionary *dictionary;
  struct codec_pool *pool;

  t->dictionary = NULL;
  t->bytes_before = t->bytes_after = 0;
  if (t->nr_pages < TRAINER_PAGES_MIN ||
      codec_pool_create (CODEC_ZSTD, t->judge_level, 1, &pool) < 0)
    return;
  dictionary = train (t);
  if (dictionary && judge (t, pool, dictionary))
    t->dictionary = dictionary;
  else
    dictionary_destroy (dictionary);
  codec_pool_destroy (pool);
}
