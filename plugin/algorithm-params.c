/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of algorithm_params; see algorithm-params.h. */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm-params.h"

static int
parse_level (const char *value, int len, int *level, char *why, size_t why_size)
{
  char digits[16], *end;
  long n;

  if (len > 0 && len < (int) sizeof digits) {
    memcpy (digits, value, len);
    digits[len] = '\0';
    errno = 0;
    n = strtol (digits, &end, 10);
    /* strtol would skip leading white space, which ends a word here. */
    if (errno == 0 && *end == '\0' && digits[0] > ' ' && n >= INT_MIN &&
        n <= INT_MAX) {
      *level = n;
      return 0;
    }
  }
  snprintf (why, why_size, "level=%.*s: a whole number is needed",
            len > 32 ? 32 : len, value);
  return -EINVAL;
}

int
algorithm_params_parse (const char *text, struct algorithm_params *params,
                        char *why, size_t why_size)
{
  struct algorithm_params parsed = *params;

  for (;;) {
    int len, r;

    text += strspn (text, " ");
    if (*text == '\0')
      break;
    len = strcspn (text, " ") > INT_MAX ? INT_MAX : (int) strcspn (text, " ");
    if (len > 5 && strncmp (text, "dict=", 5) == 0) {
      parsed.dict = text + 5;
      parsed.dict_len = len - 5;
      text += len;
      continue;
    }
    if (len < 6 || strncmp (text, "level=", 6) != 0) {
      snprintf (why, why_size,
                "unknown parameter '%.*s'; allowed: level=NUMBER, dict=FILE",
                len > 32 ? 32 : len, text);
      return -EINVAL;
    }
    r = parse_level (text + 6, len - 6, &parsed.level, why, why_size);
    if (r < 0)
      return r;
    parsed.has_level = true;
    text += len;
  }
  *params = parsed;
  return 0;
}
