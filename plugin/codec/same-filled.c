/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that repeat one 8-byte word.  Most that do not, differ in their first two
 * words, which are in one cache line, or in their last, at which zram looks first.
 */
#include <config.h>

#include <string.h>

#include "codec.h"
#include "zspage-page.h"

bool
codec_same_filled (const void *page, uint64_t *value)
{
  const uint8_t *p = page;
  uint64_t first, second, last;

  memcpy (&first, p, sizeof first);
  memcpy (&second, p + sizeof first, sizeof second);
  if (first != second)
    return false;
  memcpy (&last, p + ZSPAGE_PAGE_SIZE - sizeof last, sizeof last);
  /* The page equals itself shifted by one word if and only if all its words
   * are the same.
   */
  if (first != last ||
      memcmp (p, p + sizeof first, ZSPAGE_PAGE_SIZE - sizeof first) != 0)
    return false;
  *value = first;
  return true;
}

void
codec_fill (void *page, uint64_t value)
{
  uint8_t *p = page;
  size_t i;

  if (value == 0) {
    memset (p, 0, ZSPAGE_PAGE_SIZE);
    return;
  }
  for (i = 0; i < ZSPAGE_PAGE_SIZE; i += sizeof value)
    memcpy (p + i, &value, sizeof value);
}
