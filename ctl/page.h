/* SPDX-License-Identifier: BSD-3-Clause */

/* Telling pages filled with one word from others, as zram does. */

#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "zspage-page.h"

/* Is the page one 8-byte word repeated?  Then *word is that word.
 * The page need not be aligned.
 */
static inline bool
ctl_page_same_filled (const unsigned char *page, uint64_t *word)
{
  /* Each byte equal to the one 8 before it says it all, in one memcmp. */
  if (memcmp (page, page + sizeof *word, ZSPAGE_PAGE_SIZE - sizeof *word) != 0)
    return false;
  memcpy (word, page, sizeof *word);
  return true;
}

static inline bool
ctl_page_is_zero (const unsigned char *page)
{
  uint64_t word;

  return ctl_page_same_filled (page, &word) && word == 0;
}

#endif /* CTL_PAGE_H */
