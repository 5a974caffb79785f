/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the printing of complaints. */

#include <config.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

static void complain (const char *fs, va_list args)
  __attribute__ ((format (printf, 1, 0)));

static void
complain (const char *fs, va_list args)
{
  char *text, *p;
  size_t len;

  fflush (stdout);
  if (vasprintf (&text, fs, args) == -1) {
    fprintf (stderr, "zspagectl: %s\n", fs);
    return;
  }
  len = strlen (text);
  while (len > 0 && text[len - 1] == '\n')
    text[--len] = '\0';
  for (p = text; *p != '\0'; p++) {
    if (iscntrl ((unsigned char) *p) && *p != '\n' && *p != '\t')
      *p = '?';
  }
  fprintf (stderr, "zspagectl: %s\n", text);
  free (text);
}

int
ctl_fail (const char *fs, ...)
{
  va_list args;

  va_start (args, fs);
  complain (fs, args);
  va_end (args);
  return CTL_EXIT_FAILED;
}

int
ctl_usage (const char *fs, ...)
{
  va_list args;

  va_start (args, fs);
  complain (fs, args);
  va_end (args);
  return CTL_EXIT_USAGE;
}
