/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the parsing of numbers: strtoull alone takes signs, blanks, empty
 * strings and trailing junk, each of which is a typing error here.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

static int
parse_digits (const char *str, uint64_t max, uint64_t *value, const char **end)
{
  const int base = strncmp (str, "0x", 2) == 0 ? 16 : 10;
  unsigned long long n;
  char *stop;

  if (!isdigit ((unsigned char) str[0]))
    return -EINVAL;
  if (base == 16 && !isxdigit ((unsigned char) str[2]))
    return -EINVAL;
  errno = 0;
  n = strtoull (str, &stop, base);
  if (errno == ERANGE || n > max)
    return -ERANGE;
  *value = n;
  *end = stop;
  return 0;
}

int
ctl_parse_number (const char *str, uint64_t max, uint64_t *value)
{
  const char *end;
  uint64_t n;
  int r;

  r = parse_digits (str, max, &n, &end);
  if (r < 0)
    return r;
  if (*end != '\0')
    return -EINVAL;
  *value = n;
  return 0;
}

int
ctl_parse_decimal (const char *str, uint64_t max, uint64_t *value)
{
  if (str[strspn (str, "0123456789")] != '\0')
    return -EINVAL;
  return ctl_parse_number (str, max, value);
}

/* Read .DIGITS at *str, if it is there, and go on to what follows.  Returns
 * what it is, from 0 to less than 1, or -1.
 */
static double
parse_fraction (const char **str)
{
  const char *p = *str;
  double n = 0, scale = 1;

  if (*p != '.')
    return 0;
  for (p++; isdigit ((unsigned char) *p); p++) {
    if (scale < 1e15) { /* both are exact */
      n = n * 10 + (*p - '0');
      scale *= 10;
    }
  }
  if (p == *str + 1)
    return -1;
  *str = p;
  return n / scale;
}

int
ctl_parse_size (const char *str, uint64_t max, uint64_t *value)
{
  static const char units[] = "KMGTP";
  const char *end, *unit;
  unsigned shift = 0;
  double fraction;
  uint64_t n, rest;
  int r;

  r = parse_digits (str, max, &n, &end);
  if (r < 0)
    return r;
  fraction = strncmp (str, "0x", 2) == 0 ? 0 : parse_fraction (&end);
  if (fraction < 0 || (fraction > 0 && *end == '\0'))
    return -EINVAL;
  if (*end != '\0') {
    unit = strchr (units, toupper ((unsigned char) *end));
    if (unit == NULL || end[1] != '\0')
      return -EINVAL;
    shift = 10 * ((unsigned) (unit - units) + 1);
  }
  if (n > max >> shift)
    return -ERANGE;
  rest = (uint64_t) (fraction * (double) (UINT64_C (1) << shift));
  if (rest > max - (n << shift))
    return -ERANGE;
  *value = (n << shift) + rest;
  return 0;
}
