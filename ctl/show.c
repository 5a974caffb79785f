/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb show: each figure of a device, and what it means. */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "message.h"
#include "verbs.h"

#define HELP_COLUMN  32
#define RIGHT_MARGIN 79

/* The headline: what went in, what it takes, and what it takes beside. */
static void
print_summary (const json_t *device)
{
  const uint64_t data =
    (uint64_t) ctl_device_count (device, "mm_stat", "orig_data_size");
  const uint64_t total =
    (uint64_t) ctl_device_count (device, "mm_stat", "mem_used_total");
  const uint64_t beside =
    (uint64_t) (ctl_device_count (device, "memory", "mem_meta") +
                ctl_device_count (device, "memory", "mem_reserve"));
  char data_text[CTL_SIZE_LEN], total_text[CTL_SIZE_LEN],
    beside_text[CTL_SIZE_LEN];

  ctl_size_text (data, data_text);
  ctl_size_text (total, total_text);
  ctl_size_text (beside, beside_text);
  printf ("%s: %s of data in %s of memory", ctl_device_name (device), data_text,
          total_text);
  if (total > 0)
    printf (", ratio %.2f", (double) data / (double) total);
  printf ("; %s of memory beside that\n", beside_text);
}

/* Print words up to the right margin, and on in further lines under them. */
static void
print_wrapped (const char *text)
{
  size_t column = HELP_COLUMN;

  while (*text != '\0') {
    const size_t len = strcspn (text, " ");

    if (column > HELP_COLUMN && column + 1 + len > RIGHT_MARGIN) {
      printf ("\n%*s", HELP_COLUMN, "");
      column = HELP_COLUMN;
    }
    column += (size_t) printf ("%s%.*s", column > HELP_COLUMN ? " " : "",
                               (int) len, text);
    text += len;
    text += strspn (text, " ");
  }
  putchar ('\n');
}

static int
print_figure (const struct ctl_figure *figure, const json_t *device,
              bool in_bytes)
{
  char *value = ctl_figure_text (figure, device, in_bytes), *help;
  int r;

  if (figure->name != NULL)
    r = asprintf (&help, "%s [%s]", figure->help, figure->name);
  else
    r = asprintf (&help, "%s", figure->help);
  if (value == NULL || r == -1) {
    free (value);
    return ctl_fail ("%s", strerror (ENOMEM));
  }
  printf ("  %-13s %14s  ", figure->column, value);
  print_wrapped (help);
  free (value);
  free (help);
  return 0;
}

static int
print_device (const json_t *device, bool in_bytes)
{
  const struct ctl_figure *f;
  int subject = -1, r = 0;

  print_summary (device);
  for (f = ctl_figures; f->column != NULL && r == 0; f++) {
    if (f->unit == CTL_UNIT_TIME)
      continue;
    if ((int) f->subject != subject) {
      subject = (int) f->subject;
      printf ("\n%s:\n", ctl_subject_title (f->subject));
    }
    r = print_figure (f, device, in_bytes);
  }
  return r;
}

int
ctl_show (const struct ctl_invocation *inv)
{
  json_t *devices;
  size_t i;
  int r;

  r = ctl_devices_get_some (inv->client, inv->args, (size_t) inv->nr_args,
                            &devices);
  if (r != 0)
    return r;
  ctl_devices_note_none (devices);
  for (i = 0; i < json_array_size (devices) && r == 0; i++) {
    if (i > 0)
      putchar ('\n');
    r = print_device (json_array_get (devices, i), inv->style.bytes);
  }
  json_decref (devices);
  return r;
}
