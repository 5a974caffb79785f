/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of export names; see export-name.h. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "export-name.h"
#include "stats.h"

static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz"
                                 "0123456789._-";

/* The statistic of that name, if it can be an export; else NULL. */
static const struct stats_node *
export_node (const char *name)
{
  const struct stats_node *node = stats_node_by_name (name);

  return node && node->read && node->special == STATS_USUAL ? node : NULL;
}

bool
device_name_is_valid (const char *name)
{
  size_t len = strspn (name, name_chars);

  return len >= 1 && len <= DEVICE_NAME_MAX && name[len] == '\0' &&
         strcmp (name, ".") != 0 && strcmp (name, "..") != 0 &&
         stats_node_by_name (name) == NULL;
}

int
export_name_parse (const char *text, struct export_name *name)
{
  const char *slash = strchr (text, '/');
  size_t len = slash ? (size_t) (slash - text) : strlen (text);

  name->node = export_node (slash ? slash + 1 : text);
  if (slash && name->node == NULL)
    return -ENOENT;
  if (text[0] == '\0' || (name->node && !slash)) {
    strcpy (name->device, DEFAULT_DEVICE_NAME);
    return 0;
  }
  if (len > DEVICE_NAME_MAX)
    return -ENOENT;
  memcpy (name->device, text, len);
  name->device[len] = '\0';
  return device_name_is_valid (name->device) ? 0 : -ENOENT;
}

void
export_name_printable (const char *text, char *buf, size_t size)
{
  size_t i;

  for (i = 0; i + 1 < size && text[i]; ++i)
    buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  buf[i] = '\0';
}
