/* SPDX-License-Identifier: BSD-3-Clause */
/* What is written to recompress: zram's parameters. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "zspage-page.h"

#define TAKES                                                                  \
  "recompress takes type=idle, huge or huge_idle, threshold=1 to 4095, "       \
  "max_pages=, algo=zstd and priority=1"

static const struct type {
  const char *name;
  unsigned which;
} types[] = {
  {"idle", STORE_RECOMPRESS_IDLE},
  {"huge", STORE_RECOMPRESS_HUGE},
  {"huge_idle", STORE_RECOMPRESS_HUGE | STORE_RECOMPRESS_IDLE},
};

/* A number of digits only, from min to max. */
static bool
number (const char *text, uint64_t min, uint64_t max, uint64_t *n)
{
  size_t digits = strspn (text, "0123456789");

  if (digits == 0 || digits > 19 || text[digits])
    return false;
  *n = strtoull (text, NULL, 10);
  return *n >= min && *n <= max;
}

static bool
parameter (const char *key, const char *value, struct chore_order *order)
{
  uint64_t n;
  size_t i;

  if (strcmp (key, "type") == 0) {
    for (i = 0; i < sizeof types / sizeof types[0]; ++i)
      if (strcmp (value, types[i].name) == 0) {
        order->how.which = types[i].which;
        return true;
      }
    return false;
  }
  if (strcmp (key, "threshold") == 0) {
    if (!number (value, 1, ZSPAGE_PAGE_SIZE - 1, &n))
      return false;
    order->how.threshold = n;
    return true;
  }
  if (strcmp (key, "max_pages") == 0)
    return number (value, 1, UINT64_MAX, &order->max_pages);
  if (strcmp (key, "algo") == 0)
    return strcmp (value, "zstd") == 0;
  return strcmp (key, "priority") == 0 && strcmp (value, "1") == 0;
}

int
stats_recompress_parse (const char *text, struct chore_order *order, char *why,
                        size_t why_size)
{
  char copy[256], *at = copy, *word, *value;

  order->how = (struct store_recompress){0};
  order->max_pages = UINT64_MAX;
  snprintf (copy, sizeof copy, "%s", text);
  while ((word = strsep (&at, " \t\n")) != NULL) {
    if (*word == '\0')
      continue;
    value = strchr (word, '=');
    if (value)
      *value++ = '\0';
    if (value == NULL || !parameter (word, value, order)) {
      snprintf (why, why_size, "%.40s%s%.40s: " TAKES, word, value ? "=" : "",
                value ? value : "");
      return -EINVAL;
    }
  }
  return 0;
}
