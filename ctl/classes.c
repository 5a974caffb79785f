/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb classes: zsmalloc's table, without the rows of classes that
 * have no memory, and as narrow as it can be.
 *
 * The server's text has a line of headings, a row for each class, and one
 * that begins with Total and lacks the columns that cannot be summed up.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols.h>

#include "devices.h"
#include "message.h"
#include "verbs.h"

#define MAX_COLUMNS 32

struct classes {
  struct libscols_table *table;
  size_t nr_columns;
  size_t pages_used_idx;
  bool in_total[MAX_COLUMNS]; /* this column has a sum */
};

/* Cut a line into words.  Returns how many, MAX_COLUMNS + 1 if too many. */
static size_t
split (char *line, char *words[MAX_COLUMNS])
{
  char *save = NULL, *word;
  size_t nr = 0;

  for (word = strtok_r (line, " ", &save); word != NULL;
       word = strtok_r (NULL, " ", &save)) {
    if (nr == MAX_COLUMNS)
      return MAX_COLUMNS + 1;
    words[nr++] = word;
  }
  return nr;
}

static bool
add_headings (struct classes *c, char *line)
{
  char *words[MAX_COLUMNS];
  bool found = false;
  size_t i;

  c->nr_columns = split (line, words);
  if (c->nr_columns > MAX_COLUMNS)
    return false;
  for (i = 0; i < c->nr_columns; i++) {
    c->in_total[i] = strcmp (words[i], "size") != 0 &&
                     strcmp (words[i], "pages_per_zspage") != 0;
    if (strcmp (words[i], "pages_used") == 0) {
      c->pages_used_idx = i;
      found = true;
    }
    if (scols_table_new_column (c->table, words[i], 0, SCOLS_FL_RIGHT) == NULL)
      return false;
  }
  return found;
}

static bool
add_row (struct classes *c, char *line)
{
  char *words[MAX_COLUMNS];
  const size_t nr = split (line, words);
  struct libscols_line *row;
  size_t i, word = 0;
  bool is_total;

  if (nr == 0)
    return true;
  if (nr > MAX_COLUMNS)
    return false;
  is_total = strcmp (words[0], "Total") == 0;
  if (!is_total && nr == c->nr_columns &&
      strcmp (words[c->pages_used_idx], "0") == 0)
    return true;
  row = scols_table_new_line (c->table, NULL);
  for (i = 0; row != NULL && i < c->nr_columns; i++) {
    if (is_total && !c->in_total[i])
      continue;
    if (word == nr || scols_line_set_data (row, i, words[word++]) != 0)
      return false;
  }
  return row != NULL && word == nr;
}

static bool
add_text (struct classes *c, char *text)
{
  char *save = NULL;
  char *line = strtok_r (text, "\n", &save);

  if (line == NULL || !add_headings (c, line))
    return false;
  while ((line = strtok_r (NULL, "\n", &save)) != NULL) {
    if (!add_row (c, line))
      return false;
  }
  return true;
}

int
ctl_classes (const struct ctl_invocation *inv)
{
  struct classes c = {.table = scols_new_table ()};
  struct ctl_reply reply;
  int r;

  if (c.table == NULL)
    return ctl_fail ("%s", strerror (ENOMEM));
  r = ctl_attribute_get (inv->client, inv->args[0], "classes", &reply);
  if (r == 0) {
    scols_table_enable_noheadings (c.table, inv->style.noheadings);
    if (!add_text (&c, reply.body))
      r = ctl_fail ("%s: the table of classes is not as it was expected; "
                    "'zspagectl get %s classes' shows it as it is",
                    inv->args[0], inv->args[0]);
    else if (scols_print_table (c.table) != 0)
      r = ctl_fail ("%s", strerror (ENOMEM));
    free (reply.body);
  }
  scols_unref_table (c.table);
  return r;
}
