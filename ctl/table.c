/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the choice of columns and the layout of the table, which is
 * libsmartcols' as zramctl's is.  In JSON, sizes are always bytes.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "message.h"
#include "table.h"

#define DEFAULT_COLUMNS                                                        \
  "NAME,DISKSIZE,DATA,COMPR,TOTAL,RATIO,ALGORITHM,MEM-LIMIT,MEM-USED,MIGRATED"

static bool
has_column (const struct ctl_columns *columns, const struct ctl_figure *figure)
{
  size_t i;

  for (i = 0; i < columns->nr; i++) {
    if (columns->figures[i] == figure)
      return true;
  }
  return false;
}

/* Each column is there once, so CTL_MAX_COLUMNS are enough for all. */
static int
append_list (struct ctl_columns *columns, const char *list)
{
  for (;;) {
    const size_t len = strcspn (list, ",");
    const struct ctl_figure *figure = ctl_figure_by_column (list, len);

    if (figure == NULL)
      return ctl_usage ("%.*s: no such column; 'zspagectl --help' lists them",
                        (int) len, list);
    if (!has_column (columns, figure) && columns->nr < CTL_MAX_COLUMNS)
      columns->figures[columns->nr++] = figure;
    if (list[len] == '\0')
      return 0;
    list += len + 1;
  }
}

void
ctl_columns_default (struct ctl_columns *columns)
{
  columns->nr = 0;
  append_list (columns, DEFAULT_COLUMNS);
}

void
ctl_columns_all (struct ctl_columns *columns)
{
  const struct ctl_figure *f;

  columns->nr = 0;
  for (f = ctl_figures; f->column != NULL && columns->nr < CTL_MAX_COLUMNS; f++)
    columns->figures[columns->nr++] = f;
}

int
ctl_columns_parse (const char *list, struct ctl_columns *columns)
{
  columns->nr = 0;
  if (list[0] == '+') {
    ctl_columns_default (columns);
    list++;
  }
  return append_list (columns, list);
}

void
ctl_columns_prepend (struct ctl_columns *columns, const char *column)
{
  const struct ctl_figure *f = ctl_figure_by_column (column, strlen (column));

  if (has_column (columns, f) || columns->nr == CTL_MAX_COLUMNS)
    return;
  memmove (&columns->figures[1], &columns->figures[0],
           columns->nr * sizeof columns->figures[0]);
  columns->figures[0] = f;
  columns->nr++;
}

static bool
add_columns (struct libscols_table *table, const struct ctl_columns *columns)
{
  size_t i;

  for (i = 0; i < columns->nr; i++) {
    const struct ctl_figure *f = columns->figures[i];
    const bool is_text = f->unit == CTL_UNIT_TEXT || f->unit == CTL_UNIT_TIME;
    const int flags = is_text ? 0 : SCOLS_FL_RIGHT;

    if (scols_table_new_column (table, f->column, 0, flags) == NULL)
      return false;
  }
  return true;
}

static bool
add_row (struct libscols_table *table, const struct ctl_columns *columns,
         const json_t *device, bool in_bytes)
{
  struct libscols_line *line = scols_table_new_line (table, NULL);
  size_t i;

  for (i = 0; line != NULL && i < columns->nr; i++) {
    char *text = ctl_figure_text (columns->figures[i], device, in_bytes);

    if (text == NULL || scols_line_refer_data (line, i, text) != 0) {
      free (text);
      return false;
    }
  }
  return line != NULL;
}

int
ctl_table_print (const json_t *devices, const struct ctl_columns *columns,
                 const struct ctl_table_style *style)
{
  struct libscols_table *table = scols_new_table ();
  bool ok = table != NULL && add_columns (table, columns);
  size_t i;

  for (i = 0; ok && i < json_array_size (devices); i++)
    ok = add_row (table, columns, json_array_get (devices, i), style->bytes);
  if (ok) {
    scols_table_enable_raw (table, style->raw);
    scols_table_enable_noheadings (table, style->noheadings);
    ok = scols_print_table (table) == 0;
  }
  scols_unref_table (table);
  return ok ? 0 : ctl_fail ("cannot print the table: %s", strerror (ENOMEM));
}

static json_t *
device_json (const json_t *device, const struct ctl_columns *columns)
{
  json_t *object = json_object ();
  char key[32];
  size_t i;

  for (i = 0; i < columns->nr; i++) {
    ctl_figure_key (columns->figures[i], key);
    json_object_set_new (object, key,
                         ctl_figure_value (columns->figures[i], device));
  }
  return object;
}

int
ctl_table_print_json (const json_t *devices, const struct ctl_columns *columns)
{
  json_t *rows = json_array (), *all;
  size_t i;
  int r;

  for (i = 0; i < json_array_size (devices); i++)
    json_array_append_new (rows,
                           device_json (json_array_get (devices, i), columns));
  all = json_pack ("{s:o}", "devices", rows);
  r = json_dumpf (all, stdout, JSON_INDENT (2) | JSON_REAL_PRECISION (6));
  putchar ('\n');
  json_decref (all);
  return r == 0 ? 0
                : ctl_fail ("cannot print the table: %s", strerror (ENOMEM));
}
