/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verbs that print the table of devices: once, or again and again.
 *
 * On a terminal the table is painted over the last one.  Elsewhere each time
 * adds a row for each device, with the time, so that it makes a log.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "devices.h"
#include "message.h"
#include "verbs.h"

/* To the top left corner, and erase what is below. */
#define CLEAR_SCREEN "\033[H\033[J"

static int
get_devices (const struct ctl_invocation *inv, json_t **devices)
{
  return ctl_devices_get_some (inv->client, inv->args, (size_t) inv->nr_args,
                               devices);
}

int
ctl_list (const struct ctl_invocation *inv)
{
  json_t *devices;
  int r;

  r = get_devices (inv, &devices);
  if (r != 0)
    return r;
  ctl_devices_note_none (devices);
  r = inv->json ? ctl_table_print_json (devices, &inv->columns)
                : ctl_table_print (devices, &inv->columns, &inv->style);
  json_decref (devices);
  return r;
}

static void
add_ms (struct timespec *ts, uint32_t ms)
{
  ts->tv_sec += ms / 1000;
  ts->tv_nsec += (long) (ms % 1000) * 1000000;
  if (ts->tv_nsec >= 1000000000) {
    ts->tv_sec++;
    ts->tv_nsec -= 1000000000;
  }
}

int
ctl_watch (const struct ctl_invocation *inv)
{
  const bool tty = isatty (STDOUT_FILENO) == 1;
  struct ctl_table_style style = inv->style;
  struct ctl_columns columns = inv->columns;
  struct timespec next;
  uint64_t i;
  int r = 0;

  if (!tty)
    ctl_columns_prepend (&columns, "TIME");
  clock_gettime (CLOCK_MONOTONIC, &next);
  for (i = 0; inv->count == 0 || i < inv->count; i++) {
    json_t *devices;

    if (i > 0) {
      add_ms (&next, inv->interval_ms);
      while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) ==
             EINTR)
        ;
    }
    /* The first failure ends it: what is on the screen is then old. */
    r = get_devices (inv, &devices);
    if (r != 0)
      return r;
    if (tty)
      fputs (CLEAR_SCREEN, stdout);
    r = ctl_table_print (devices, &columns, &style);
    json_decref (devices);
    if (fflush (stdout) == EOF || r != 0)
      return r; /* main tells of a bad stdout */
    if (!tty)
      style.noheadings = true;
  }
  return r;
}
