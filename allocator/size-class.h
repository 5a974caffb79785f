/* SPDX-License-Identifier: BSD-3-Clause */
/* Size classes: which objects share a zspage, and how long its chain is.
 * A pure function of the chain limit.  Source: the rules in the Linux document
 * Documentation/mm/zsmalloc.rst, whose tables are golden tests here.
 */
#ifndef SIZE_CLASS_H
#define SIZE_CLASS_H

#include <stddef.h>
#include <stdint.h>

#define ZS_NR_SIZES   255 /* 32, 48, ... 4096 */
#define ZS_MIN_SIZE   32u
#define ZS_SIZE_DELTA 16u
#define ZS_HUGE_INDEX (ZS_NR_SIZES - 1) /* the class of whole pages */
#define ZS_MIN_CHAIN  4u
#define ZS_MAX_CHAIN  16u
#define ZS_CHAIN_DFLT 8u
#define ZS_MAX_OBJS   256u /* no class packs more into a zspage */

struct zs_size_class {
  uint16_t size;  /* bytes an object */
  uint16_t objs;  /* objects a zspage */
  uint8_t pages;  /* pages a zspage */
  uint8_t merged; /* index of the class that serves this size; its own
                     index unless merged into a larger one */
};

struct zs_size_classes {
  struct zs_size_class of[ZS_NR_SIZES];
  unsigned nr_classes; /* that are not merged into another */
  unsigned huge_size;  /* the watermark, bytes: above it an object is huge */
};

/* Fill in *classes for zspages of at most chain_size pages, 4..16.
 * Returns 0, or -EINVAL for another chain_size.
 */
int zs_size_classes_init (struct zs_size_classes *classes, unsigned chain_size);

/* The index of the class that serves objects of size bytes, 1..4096. */
static inline unsigned
zs_size_class_index (const struct zs_size_classes *classes, size_t size)
{
  size_t i = 0;

  if (size > ZS_MIN_SIZE)
    i = (size - ZS_MIN_SIZE + ZS_SIZE_DELTA - 1) / ZS_SIZE_DELTA;
  return classes->of[i].merged;
}

#endif /* SIZE_CLASS_H */
