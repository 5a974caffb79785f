/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns what estimate does for comp_algorithm=auto beyond writing and reading.
 *
 * Sample, training and recompression are the server's own functions.  A server
 * spreads them over minutes, and leaves pages alone that are in use; here they
 * come one after the other, and no page is in use: the figures are those of
 * pages that were all left alone for a while.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "estimate-auto.h"
#include "policy.h"
#include "trainer.h"
#include "zspage-page.h"

/* Pages between two looks at the clock: some 3 ms. */
#define RECOMPRESS_STEP 64u

int
ctl_auto_codecs (struct store_config *config)
{
  int r;

  r = codec_pool_create (CODEC_ZSTD, AUTO_LEVEL_DENSE, 1, &config->dense);
  if (r == 0)
    r = codec_pool_create (CODEC_ZSTD, AUTO_LEVEL_STRONG, 1, &config->strong);
  return r;
}

/* Whether there is enough for a server to train on. */
static bool
is_worth_training (struct store *store)
{
  struct store_stats stats;

  store_stats (store, &stats);
  return stats.lz4_pages + stats.zstd_pages >= POLICY_TRAIN_PAGES;
}

/* Fill the buffer with TRAINER_PAGES pages, or fewer. */
static size_t
sample (struct store *store, uint8_t *pages)
{
  struct store_sampler at = {0};
  size_t i, n = 0;

  for (i = 0; i < TRAINER_PAGES; ++i)
    if (store_sample (store, &at, i, TRAINER_PAGES,
                      pages + n * ZSPAGE_PAGE_SIZE))
      n++;
  return n;
}

static int
train (struct store *store)
{
  uint8_t *pages = malloc ((size_t) TRAINER_PAGES * ZSPAGE_PAGE_SIZE);
  struct training training = {
    .store = store,
    .level = store_dictionary_level (store),
    .judge_level = store_strong_level (store),
    .pages = pages,
  };
  int r = 0;

  if (pages == NULL)
    return -ENOMEM;
  training.nr_pages = sample (store, pages);
  trainer_run (&training);
  free (pages);
  if (training.dictionary)
    r = store_dictionary_add (store, training.dictionary);
  if (r < 0)
    dictionary_destroy (training.dictionary);
  return r;
}

int
ctl_auto_begin (struct store *store)
{
  int r = 0;

  if (is_worth_training (store))
    r = train (store);
  return r < 0 ? r : store_recompress_begin (store);
}

bool
ctl_auto_slice (struct store *store, uint64_t *at)
{
  const struct store_recompress all = {.which = 0, .threshold = 0};
  unsigned nr_tried = RECOMPRESS_STEP;

  return store_recompress_slice (store, &all, at, &nr_tried);
}

void
ctl_auto_end (struct store *store)
{
  store_recompress_end (store);
  store_compact (store);
}
