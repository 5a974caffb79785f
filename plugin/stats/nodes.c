/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of a device: those of zram's sysfs, by the same names. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "stats.h"

__attribute__ ((format (printf, 1, 2))) static char *
text_printf (const char *format, ...)
{
  char *text;
  va_list args;
  int r;

  va_start (args, format);
  r = vasprintf (&text, format, args);
  va_end (args);
  return r == -1 ? NULL : text;
}

static char *
disksize_read (const struct stats_device *device)
{
  return text_printf ("%" PRIu64 "\n", store_disksize (device->store));
}

static char *
mem_limit_read (const struct stats_device *device)
{
  struct store_stats s;

  store_stats (device->store, &s);
  return text_printf ("%" PRIu64 "\n", s.mem_limit);
}

/* A device is always set up. */
static char *
initstate_read (const struct stats_device *device)
{
  (void) device;
  return text_printf ("1\n");
}

/* All algorithms, the one in use in brackets. */
static char *
comp_algorithm_read (const struct stats_device *device)
{
  char *text = NULL;
  size_t len;
  int i;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  for (i = 0; i < CODEC_COUNT; ++i) {
    const char *name = codec_name (i);
    bool is_it = strcmp (name, device->comp_algorithm) == 0;

    fprintf (fp, is_it ? "%s[%s]" : "%s%s", i ? " " : "", name);
  }
  fputc ('\n', fp);
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}

static char *
algorithm_params_read (const struct stats_device *device)
{
  return text_printf ("level=%d\n", device->level);
}

static int
mem_limit_write (const struct stats_device *device, const char *text, char *why,
                 size_t why_size)
{
  uint64_t bytes;

  if (stats_size_parse (text, &bytes) < 0) {
    snprintf (why, why_size,
              "mem_limit takes a size such as 536870912, 512M or 1G; "
              "0 is no limit");
    return -EINVAL;
  }
  store_set_mem_limit (device->store, bytes);
  return 0;
}

static int
mem_used_max_write (const struct stats_device *device, const char *text,
                    char *why, size_t why_size)
{
  if (strcmp (text, "0") != 0) {
    snprintf (why, why_size,
              "mem_used_max takes 0, which resets it to what is used now");
    return -EINVAL;
  }
  store_reset_mem_used_max (device->store);
  return 0;
}

static int
idle_write (const struct stats_device *device, const char *text, char *why,
            size_t why_size)
{
  if (strcmp (text, "all") != 0) {
    snprintf (why, why_size, "idle takes all, which marks every page");
    return -EINVAL;
  }
  store_mark_idle (device->store);
  return 0;
}

static int
reset_write (const struct stats_device *device, const char *text, char *why,
             size_t why_size)
{
  if (strcmp (text, "1") != 0) {
    snprintf (why, why_size, "reset takes 1, which forgets every page");
    return -EINVAL;
  }
  if (device->nr_clients > 0 || device->reset (device->opaque) < 0) {
    snprintf (why, why_size, "the device is in use: a client has it open");
    return -EBUSY;
  }
  return 0;
}

/* For when nobody waits for the end; over HTTP it is done in slices. */
static int
compact_write (const struct stats_device *device, const char *text, char *why,
               size_t why_size)
{
  (void) text;
  (void) why;
  (void) why_size;
  store_compact (device->store);
  return 0;
}

const struct stats_node stats_nodes[] = {
  {"mm_stat", "zram's mm_stat: one line of nine figures", stats_mm_stat, NULL},
  {"io_stat", "zram's io_stat: one line of four figures", stats_io_stat, NULL},
  {"bd_stat", "zram's bd_stat: zeros, as there is no backing device",
   stats_bd_stat, NULL},
  {"debug_stat", "zram's debug_stat", stats_debug_stat, NULL},
  {"classes", "zsmalloc's classes: a line for each size class", stats_classes,
   NULL},
  {"block_state", "zram's block_state: a line for each stored page",
   stats_block_state, NULL},
  {"stats.json", "all figures as JSON", stats_json, NULL},
  {"disksize", "size of the device, bytes", disksize_read, NULL},
  {"initstate", "1", initstate_read, NULL},
  {"comp_algorithm", "the algorithms, and in brackets the one in use",
   comp_algorithm_read, NULL},
  {"algorithm_params", "its parameters", algorithm_params_read, NULL},
  {"mem_limit", "most memory for compressed pages, bytes; 0 is no limit",
   mem_limit_read, mem_limit_write},
  {"mem_used_max", "write 0: reset mem_used_max to what is used now", NULL,
   mem_used_max_write},
  {"compact", "write anything: compact now", NULL, compact_write},
  {"idle", "write all: mark every page idle, until it is used", NULL,
   idle_write},
  {"reset", "write 1: forget every page, of a device that nobody has open",
   NULL, reset_write},
  {.name = NULL},
};

const struct stats_node *
stats_node_by_name (const char *name)
{
  const struct stats_node *node;

  for (node = stats_nodes; node->name; ++node)
    if (strcmp (node->name, name) == 0)
      return node;
  return NULL;
}

int
stats_size_parse (const char *text, uint64_t *bytes)
{
  static const char units[] = "KMGTP";
  size_t digits = strspn (text, "0123456789");
  unsigned shift = 0;
  const char *unit;
  uint64_t n;

  if (digits == 0 || digits > 19)
    return -EINVAL;
  n = strtoull (text, NULL, 10);
  text += digits;
  if (*text) {
    unit = strchr (units, *text >= 'a' ? *text - 'a' + 'A' : *text);
    if (unit == NULL || text[1])
      return -EINVAL;
    shift = 10 * (unit - units + 1);
  }
  if (n > UINT64_MAX >> shift)
    return -EINVAL;
  *bytes = n << shift;
  return 0;
}
