/* SPDX-License-Identifier: BSD-3-Clause */
/* The page: the unit that clients swap, that the store compresses and that the
 * allocator asks the kernel for.  It is 4096 bytes whatever the machine's own
 * page size is; arena.c refuses machines where that does not work.
 */
#ifndef ZSPAGE_PAGE_H
#define ZSPAGE_PAGE_H

#include <stddef.h>
#include <stdint.h>

#define ZSPAGE_PAGE_SHIFT 12
#define ZSPAGE_PAGE_SIZE  4096u
#define ZSPAGE_PAGE_MASK  (ZSPAGE_PAGE_SIZE - 1)

#define ZSPAGE_CACHE_LINE 64

/* x rounded up to a multiple of a, a power of two.  The caller knows that
 * this does not overflow.
 */
static inline uint64_t
zspage_align_up (uint64_t x, uint64_t a)
{
  return (x + a - 1) & ~(a - 1);
}

#endif /* ZSPAGE_PAGE_H */
