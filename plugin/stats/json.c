/* SPDX-License-Identifier: BSD-3-Clause */
/* All figures as JSON. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "metrics.h"
#include "stats.h"

char *
stats_json (const struct stats_device *device)
{
  struct store_stats stats;
  json_t *root = json_object (), *groups[GROUP_COUNT];
  const struct metric *m;
  char *text, *line;
  size_t len;
  int g, r;

  store_stats (device->store, &stats);
  r = json_object_set_new (root, "device", json_string (device->name)) |
      json_object_set_new (root, "comp_algorithm",
                           json_string (device->comp_algorithm)) |
      json_object_set_new (root, "level", json_integer (device->level));
  for (g = 0; g < GROUP_COUNT; ++g) {
    groups[g] = json_object ();
    r |= json_object_set_new (root, metric_group_name (g), groups[g]);
  }
  for (m = metrics; m->name && r == 0; ++m)
    r |= json_object_set_new (groups[m->group], m->name,
                              json_integer (metric_value (m, &stats)));
  text = r == 0 ? json_dumps (root, JSON_INDENT (2)) : NULL;
  json_decref (root);
  if (text == NULL)
    return NULL;

  /* A text file ends with a newline. */
  len = strlen (text);
  line = realloc (text, len + 2);
  if (line == NULL) {
    free (text);
    return NULL;
  }
  memcpy (line + len, "\n", 2);
  return line;
}
