/* SPDX-License-Identifier: BSD-3-Clause */
/* A store that recompresses, for tests. */
#ifndef RECOMPRESS_FIXTURE_H
#define RECOMPRESS_FIXTURE_H

#include "store-fixture.h"

/* Of zstd; that of recompression. */
#define RECOMPRESS_LEVEL 9

struct recompress_fixture {
  struct store_fixture f;
  struct codec_pool *strong;
  struct store_recompress how; /* all pages */
  int level;                   /* for which dictionaries are digested */
};

/* params.strong is set here. */
void recompress_fixture_init (struct recompress_fixture *x,
                              struct store_params params);

/* Checks the store first. */
void recompress_fixture_fini (struct recompress_fixture *x);

#endif /* RECOMPRESS_FIXTURE_H */
