/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of devices. */

#ifndef CTL_TABLE_H
#define CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "figures.h"

struct ctl_columns {
  size_t nr;
  const struct ctl_figure *figures[CTL_MAX_COLUMNS];
};

struct ctl_table_style {
  bool bytes;      /* sizes as numbers of bytes */
  bool noheadings; /* rows only */
  bool raw;        /* one space between columns */
};

/* The columns that zramctl shows, and the ratio. */
extern void ctl_columns_default (struct ctl_columns *columns);
extern void ctl_columns_all (struct ctl_columns *columns);

/* Those of a list with commas between, or with a + before it the default ones
 * and these.  Complains of unknown ones.  Returns 0 or an exit status.
 */
extern int ctl_columns_parse (const char *list, struct ctl_columns *columns);

/* Put one before the others, unless it is among them. */
extern void ctl_columns_prepend (struct ctl_columns *columns,
                                 const char *column);

/* Print the devices, an array, a row each.  Returns 0 or an exit status. */
extern int ctl_table_print (const json_t *devices,
                            const struct ctl_columns *columns,
                            const struct ctl_table_style *style);

/* The same as an object "devices", which has an array of objects. */
extern int ctl_table_print_json (const json_t *devices,
                                 const struct ctl_columns *columns);

#endif /* CTL_TABLE_H */
