/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of an export: one line for people. */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics.h"
#include "stats.h"

/* A size as people read it, in binary units. */
static const char *
human (uint64_t bytes, char buf[32])
{
  static const char units[] = " KMGTPE";
  double v = bytes;
  unsigned u = 0;

  while (v >= 1024 && u < sizeof units - 2) {
    v /= 1024;
    u++;
  }
  if (u == 0)
    snprintf (buf, 32, "%" PRIu64 " bytes", bytes);
  else
    snprintf (buf, 32, "%.1f %ciB", v, units[u]);
  return buf;
}

char *
stats_describe (const struct stats_device *device)
{
  struct store_stats s;
  const struct metric *m;
  const char *sep = "";
  char *text = NULL, a[32], b[32];
  size_t len;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  store_stats (device->store, &s);
  fprintf (fp, "compressed RAM (%s): %s stored in %s", device->comp_algorithm,
           human (s.orig_data_size, a), human (s.mem_used_total, b));
  if (s.mem_used_total > 0)
    fprintf (fp, " (ratio %.2f)", (double) s.orig_data_size / s.mem_used_total);
  if (s.mem_limit > 0)
    fprintf (fp, ", %.0f%% of the limit of %s",
             100.0 * s.mem_used_total / s.mem_limit, human (s.mem_limit, a));
  else
    fprintf (fp, ", no limit");

  fprintf (fp, "; mm_stat: ");
  for (m = metrics; m->name; ++m) {
    if (m->group != GROUP_MM_STAT)
      continue;
    fprintf (fp, "%s%s=%" PRIu64, sep, m->name, metric_value (m, &s));
    sep = " ";
  }
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}
