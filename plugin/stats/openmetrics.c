/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures for Prometheus: its text format 0.0.4, or OpenMetrics 1.0, which
 * differ in how the family of a counter is named and in the end.
 *
 * Names of devices need no escaping: see device_name_is_valid.
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "stats.h"

static bool
ends_with (const char *s, const char *suffix)
{
  size_t a = strlen (s), b = strlen (suffix);

  return a > b && strcmp (s + a - b, suffix) == 0;
}

static void
family_head (FILE *fp, const struct metric *m, bool openmetrics)
{
  const char *total = m->is_counter && !openmetrics ? "_total" : "";
  const char *unit = metric_unit_name (m->unit);

  fprintf (fp, "# HELP zspage_%s%s %s\n", m->family, total, m->help);
  fprintf (fp, "# TYPE zspage_%s%s %s\n", m->family, total,
           m->is_counter ? "counter" : "gauge");
  if (openmetrics && ends_with (m->family, unit))
    fprintf (fp, "# UNIT zspage_%s %s\n", m->family, unit);
}

char *
stats_metrics (const struct stats_devices *devices, bool openmetrics)
{
  size_t i, len, nr = devices->nr (devices->opaque);
  struct store_stats *stats = calloc (nr ? nr : 1, sizeof *stats);
  const struct metric *m;
  char *text = NULL;
  FILE *fp = stats ? open_memstream (&text, &len) : NULL;

  if (fp == NULL) {
    free (stats);
    return NULL;
  }
  for (i = 0; i < nr; ++i)
    store_stats (devices->get (devices->opaque, i).store, &stats[i]);
  for (m = metrics; m->name; ++m) {
    family_head (fp, m, openmetrics);
    if (m->of_server && nr > 0)
      fprintf (fp, "zspage_%s %" PRIu64 "\n", m->family,
               metric_value (m, &stats[0]));
    for (i = 0; !m->of_server && i < nr; ++i)
      fprintf (fp, "zspage_%s%s{device=\"%s\"} %" PRIu64 "\n", m->family,
               m->is_counter ? "_total" : "",
               devices->get (devices->opaque, i).name,
               metric_value (m, &stats[i]));
  }
  if (openmetrics)
    fprintf (fp, "# EOF\n");
  free (stats);
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}
