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
ctl_parse_size (const char *str, uint64_t max, uint64_t *value)
{
  static const char units[] = "KMGT";
  const char *end, *unit;
  unsigned shift = 0;
  uint64_t n;
  int r;

  r = parse_digits (str, max, &n, &end);
  if (r < 0)
    return r;
  if (*end != '\0') {
    unit = strchr (units, toupper ((unsigned char) *end));
    if (unit == NULL || end[1] != '\0')
      return -EINVAL;
    shift = 10 * ((unsigned) (unit - units) + 1);
  }
  if (n > max >> shift)
    return -ERANGE;
  *value = n << shift;
  return 0;
}
