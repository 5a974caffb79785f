/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of intervals; see duration.h. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "duration.h"

int
duration_parse (const char *text, unsigned *ms)
{
  static const struct {
    const char *name;
    unsigned ms;
  } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
  size_t i, digits = strspn (text, "0123456789");
  unsigned long long n = 0;

  if (digits == 0 || digits > 9)
    return -EINVAL;
  for (i = 0; i < digits; ++i)
    n = n * 10 + (text[i] - '0');
  text += digits;
  if (*text == '\0' && n == 0) {
    *ms = 0;
    return 0;
  }
  for (i = 0; i < sizeof units / sizeof units[0]; ++i) {
    if (strcmp (text, units[i].name) != 0)
      continue;
    if (n * units[i].ms > DURATION_MAX_MS)
      return -EINVAL;
    *ms = n * units[i].ms;
    return 0;
  }
  return -EINVAL;
}
