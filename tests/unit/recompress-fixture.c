/* SPDX-License-Identifier: BSD-3-Clause */
#include <config.h>

#include "recompress-fixture.h"

void
recompress_fixture_init (struct recompress_fixture *x,
                         struct store_params params)
{
  assert_int_equal (
    codec_pool_create (CODEC_ZSTD, RECOMPRESS_LEVEL, 1, &x->strong), 0);
  params.strong = x->strong;
  store_fixture_init (&x->f, params);
  x->level = codec_levels (CODEC_ZSTD).dflt;
  x->how = (struct store_recompress){0};
}

void
recompress_fixture_fini (struct recompress_fixture *x)
{
  store_fixture_fini (&x->f);
  codec_pool_destroy (x->strong);
}
