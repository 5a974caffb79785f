/* SPDX-License-Identifier: BSD-3-Clause */

/* The figures that a table can have as columns and show explains, and how
 * they are written.
 */

#ifndef CTL_FIGURES_H
#define CTL_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* What a figure is of: the two that are easily mixed up are data as clients
 * see them, and memory of the server.
 */
enum ctl_subject {
  CTL_SUBJECT_DEVICE,
  CTL_SUBJECT_DATA,
  CTL_SUBJECT_MEMORY,
  CTL_SUBJECT_EVENTS,
  CTL_NR_SUBJECTS
};

enum ctl_unit {
  CTL_UNIT_NONE, /* a number of things */
  CTL_UNIT_TEXT,
  CTL_UNIT_BYTES,
  CTL_UNIT_RATIO,
  CTL_UNIT_TIME,
};

struct ctl_figure {
  const char *column;
  enum ctl_subject subject;
  enum ctl_unit unit;
  /* Where the server's JSON has it; no name: it is made here. */
  const char *group;
  const char *name;
  const char *help;
};

/* Ordered by subject; ends with a column of NULL. */
extern const struct ctl_figure ctl_figures[];
/* There are no more than this. */
#define CTL_MAX_COLUMNS 64

/* A heading for the figures of a subject. */
extern const char *ctl_subject_title (enum ctl_subject subject);

/* NULL if no column has that name, in any case. */
extern const struct ctl_figure *ctl_figure_by_column (const char *column,
                                                      size_t len);

/* What --json calls it: the column in small letters, with _ for -. */
extern void ctl_figure_key (const struct ctl_figure *figure, char key[32]);

/* The value for a device, or null if it has none; to be given up by
 * json_decref.
 */
extern json_t *ctl_figure_value (const struct ctl_figure *figure,
                                 const json_t *device);

/* The same as text, sizes as numbers of bytes or for people.  The caller
 * frees it; NULL: no memory.
 */
extern char *ctl_figure_text (const struct ctl_figure *figure,
                              const json_t *device, bool in_bytes);

/* A size for people: 410.6M.  As in zramctl, M is 1024 * 1024. */
#define CTL_SIZE_LEN 16
extern void ctl_size_text (uint64_t bytes, char text[CTL_SIZE_LEN]);

#endif /* CTL_FIGURES_H */
