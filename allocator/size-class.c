/* SPDX-License-Identifier: BSD-3-Clause */
/* Size classes; see size-class.h. */
#include <config.h>

#include <errno.h>

#include "size-class.h"
#include "zspage-page.h"

/* The chain length with the highest integer used%; the shortest of equals. */
static unsigned
best_chain (unsigned size, unsigned chain_size)
{
  unsigned pages, best = 1, best_used = 0;

  for (pages = 1; pages <= chain_size; ++pages) {
    unsigned zspage_size = pages * ZSPAGE_PAGE_SIZE;
    unsigned waste = zspage_size % size;
    unsigned used = (zspage_size - waste) * 100 / zspage_size;

    if (used > best_used) {
      best_used = used;
      best = pages;
    }
  }
  return best;
}

int
zs_size_classes_init (struct zs_size_classes *classes, unsigned chain_size)
{
  int i;

  if (chain_size < ZS_MIN_CHAIN || chain_size > ZS_MAX_CHAIN)
    return -EINVAL;

  classes->nr_classes = 0;
  classes->huge_size = 0;
  for (i = ZS_NR_SIZES - 1; i >= 0; --i) {
    struct zs_size_class *c = &classes->of[i];
    const struct zs_size_class *next =
      i < ZS_NR_SIZES - 1 ? &classes->of[i + 1] : NULL;

    c->size = ZS_MIN_SIZE + ZS_SIZE_DELTA * i;
    c->pages = best_chain (c->size, chain_size);
    c->objs = c->pages * ZSPAGE_PAGE_SIZE / c->size;
    if (next && next->pages == c->pages && next->objs == c->objs)
      c->merged = next->merged;
    else {
      c->merged = i;
      classes->nr_classes++;
    }
    if (c->objs > 1 && classes->huge_size == 0)
      classes->huge_size = c->size;
  }
  return 0;
}
