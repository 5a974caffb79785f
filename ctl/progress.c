/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the progress display.  Drawing is limited to some ten times a second:
 * a terminal is slower than the transfers it tells of.
 */

#include <config.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

#define BAR_WIDTH 40
#define REDRAW_NS UINT64_C (100000000)

uint64_t
ctl_now_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

static void
draw (const struct ctl_progress *p, uint64_t done_bytes, uint64_t now_ns)
{
  const double done = (double) done_bytes, total = (double) p->total_bytes;
  const double seconds = (double) (now_ns - p->start_ns) / 1e9;
  const double fraction = total > 0 ? done / total : 1;
  char bar[BAR_WIDTH + 1];

  memset (bar, '.', BAR_WIDTH);
  memset (bar, '#', (size_t) (fraction * BAR_WIDTH));
  bar[BAR_WIDTH] = '\0';

  if (p->tty)
    fprintf (stderr, "\r%-6s [%s] ", p->label, bar);
  else
    fprintf (stderr, "%s ", p->label);
  fprintf (stderr, "%3.0f%%  %.0f of %.0f MB  %.0f MB/s%s", fraction * 100,
           done / 1e6, total / 1e6, seconds > 0 ? done / 1e6 / seconds : 0,
           p->tty ? "\033[K" : "\n");
}

void
ctl_progress_start (struct ctl_progress *p, const char *label,
                    uint64_t total_bytes)
{
  p->label = label;
  p->total_bytes = total_bytes;
  p->start_ns = p->drawn_ns = ctl_now_ns ();
  p->next_tenth = 1;
  p->tty = isatty (STDERR_FILENO) == 1;
  if (p->tty)
    draw (p, 0, p->start_ns);
}

void
ctl_progress_update (struct ctl_progress *p, uint64_t done_bytes)
{
  const uint64_t now_ns = ctl_now_ns ();
  const bool complete = done_bytes >= p->total_bytes;
  const unsigned tenth = done_bytes / (p->total_bytes / 10 + 1);

  if (p->tty) {
    if (!complete && now_ns - p->drawn_ns < REDRAW_NS)
      return;
    p->drawn_ns = now_ns;
  }
  else {
    if (!complete && tenth < p->next_tenth)
      return;
    p->next_tenth = tenth + 1;
  }
  draw (p, done_bytes, now_ns);
}

void
ctl_progress_stop (struct ctl_progress *p)
{
  if (p->tty)
    fputc ('\n', stderr);
}
