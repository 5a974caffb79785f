/* SPDX-License-Identifier: BSD-3-Clause */
/* All figures as JSON. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "metrics.h"
#include "stats.h"

json_t *
stats_json_value (const struct stats_device *device)
{
  struct store_stats stats;
  json_t *root = json_object (), *groups[GROUP_COUNT];
  const struct metric *m;
  int g, r;

  store_stats (device->store, &stats);
  r = json_object_set_new (root, "device", json_string (device->name)) |
      json_object_set_new (root, "comp_algorithm",
                           json_string (device->comp_algorithm)) |
      json_object_set_new (root, "level", json_integer (device->level)) |
      json_object_set_new (root, "clients", json_integer (device->nr_clients));
  for (g = 0; g < GROUP_COUNT; ++g) {
    groups[g] = json_object ();
    r |= json_object_set_new (root, metric_group_name (g), groups[g]);
  }
  for (m = metrics; m->name && r == 0; ++m)
    r |= json_object_set_new (groups[m->group], m->name,
                              json_integer (metric_value (m, &stats)));
  if (r == 0)
    return root;
  json_decref (root);
  return NULL;
}

/* The text of a value, which is given up; it ends with a newline. */
static char *
dump (json_t *value)
{
  char *text = value ? json_dumps (value, JSON_INDENT (2)) : NULL;
  size_t len = text ? strlen (text) : 0;
  char *line = text ? realloc (text, len + 2) : NULL;

  json_decref (value);
  if (line == NULL) {
    free (text);
    return NULL;
  }
  memcpy (line + len, "\n", 2);
  return line;
}

char *
stats_json (const struct stats_device *device)
{
  return dump (stats_json_value (device));
}

char *
stats_json_devices (const struct stats_devices *devices)
{
  json_t *array = json_array ();
  size_t i, nr = devices->nr (devices->opaque);

  for (i = 0; i < nr; ++i) {
    struct stats_device device = devices->get (devices->opaque, i);

    if (json_array_append_new (array, stats_json_value (&device)) == -1) {
      json_decref (array);
      return NULL;
    }
  }
  return dump (array);
}
