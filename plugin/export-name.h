/* SPDX-License-Identifier: BSD-3-Clause */
/* Export names: "", DEVICE, NODE or DEVICE/NODE. */
#ifndef EXPORT_NAME_H
#define EXPORT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define DEVICE_NAME_MAX     64
#define DEFAULT_DEVICE_NAME "default"

/* Whether this may name a device: [A-Za-z0-9._-]{1,64}, not "." or "..", and
 * not the name of a statistics node.
 */
bool device_name_is_valid (const char *name);

struct stats_node;

struct export_name {
  char device[DEVICE_NAME_MAX + 1];
  const struct stats_node *node; /* NULL: the device itself */
};

/* Parse what a client asked for; "" and a bare node mean the device called
 * default.  Returns 0, or -ENOENT if it can name nothing.  text may be
 * anything.
 */
int export_name_parse (const char *text, struct export_name *name);

/* A copy of a name from a client that is safe to log: cut short, and with
 * what is not printable ASCII as '?'.
 */
void export_name_printable (const char *text, char *buf, size_t size);

#endif /* EXPORT_NAME_H */
