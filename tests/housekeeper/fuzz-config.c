/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line: lines of KEY=VALUE, as nbdkit hands them over.  What is
 * accepted must be what the rest of the plugin counts on.
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "duration.h"
#include "fuzz.h"
#include "plugin-config.h"
#include "size-class.h"
#include "stats-address.h"
#include "zspage-format.h"

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

/* --- nbdkit's part. */

static unsigned nr_errors;

void
nbdkit_error (const char *format, ...)
{
  char text[400];
  va_list args;

  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  MUST (strlen (text) > 5);
  nr_errors++;
}

/* About what it does: a number, and one unit. */
int64_t
nbdkit_parse_size (const char *text)
{
  static const char units[] = "bkmgtpe";
  const char *unit;
  char *end;
  unsigned long long n;
  unsigned shift = 0;

  errno = 0;
  n = strtoull (text, &end, 10);
  if (!isdigit ((unsigned char) text[0]) || errno || n > INT64_MAX)
    return -1;
  if (*end) {
    unit = strchr (units, tolower ((unsigned char) *end));
    if (unit == NULL || end[1])
      return -1;
    shift = 10 * (unit - units);
  }
  return n > (unsigned long long) INT64_MAX >> shift ? -1
                                                     : (int64_t) (n << shift);
}

/* Which is never freed, so it need not be another each time. */
char *
nbdkit_absolute_path (const char *name)
{
  static char path[4096];

  snprintf (path, sizeof path, "%s%s", name[0] == '/' ? "" : "/tmp/", name);
  return path;
}

int
nbdkit_parse_bool (const char *text)
{
  if (strcmp (text, "true") == 0 || strcmp (text, "1") == 0)
    return 1;
  return strcmp (text, "false") == 0 || strcmp (text, "0") == 0 ? 0 : -1;
}

int
nbdkit_parse_unsigned (const char *what, const char *text, unsigned *n)
{
  unsigned long v;
  char *end;

  (void) what;
  errno = 0;
  v = strtoul (text, &end, 0);
  if (!isdigit ((unsigned char) text[0]) || *end || errno || v > UINT_MAX)
    return -1;
  *n = v;
  return 0;
}

/* --- What must hold. */

static void
check_device (const struct device_config *c)
{
  struct codec_level_range range = codec_levels (c->codec);

  MUST (device_name_is_valid (c->name));
  MUST (c->disksize > 0 && c->disksize <= ZSPAGE_MAX_DISKSIZE);
  MUST (c->disksize % 4096 == 0);
  MUST (c->chain_size >= ZS_MIN_CHAIN && c->chain_size <= ZS_MAX_CHAIN);
  MUST (c->params.level >= range.min && c->params.level <= range.max);
  MUST (c->nr_allow_uid <= MAX_ALLOWED && c->nr_allow_gid <= MAX_ALLOWED);
}

static void
check_server (const struct server_config *c)
{
  struct stats_address a;
  char why[100];
  size_t i, j;

  MUST (c->compact_interval_ms <= DURATION_MAX_MS);
  MUST (c->stats_mode <= 0777);
  MUST (c->max_devices >= 1 && c->max_devices <= MAX_DEVICES);
  MUST (c->nr_stats <= MAX_STATS_SOCKETS && c->nr_devices <= MAX_DEVICES);
  for (i = 0; i < c->nr_stats; ++i)
    MUST (stats_address_parse (c->stats[i], &a, why, sizeof why) == 0);
  for (i = 0; i < c->nr_devices; ++i) {
    check_device (&c->devices[i]);
    for (j = 0; j < i; ++j)
      MUST (strcmp (c->devices[i].name, c->devices[j].name) != 0);
  }
  if (c->nr_devices == 0 || c->on_demand)
    check_device (&c->defaults);
}

/* Give the options of text, one a line; false if one is refused. */
static bool
give (char *text)
{
  char *line, *save, *value;

  for (line = strtok_r (text, "\n", &save); line;
       line = strtok_r (NULL, "\n", &save)) {
    value = strchr (line, '=');
    if (value == NULL)
      continue;
    *value++ = '\0';
    nr_errors = 0;
    if (zspage_config (line, value) == -1) {
      MUST (nr_errors > 0);
      return false;
    }
    MUST (nr_errors == 0);
  }
  nr_errors = 0;
  if (zspage_config_complete () == -1) {
    MUST (nr_errors > 0);
    return false;
  }
  return true;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  struct server_config before = server_config;
  char *text = malloc (size + 1);

  MUST (text != NULL);
  memcpy (text, data, size);
  text[size] = '\0';
  if (give (text))
    check_server (&server_config);
  zspage_config_free ();
  server_config = before;
  free (text);
  return 0;
}
