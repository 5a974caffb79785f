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
  fputs (strcmp ("auto", device->comp_algorithm) == 0 ? " [auto]\n" : " auto\n",
         fp);
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
mem_limit_write (const struct stats_device *device, const char *text,
                 struct chore_order *order, char *why, size_t why_size)
{
  uint64_t bytes;

  (void) order;
  if (stats_size_parse (text, &bytes) < 0) {
    snprintf (why, why_size,
              "mem_limit takes a size such as 536870912, 512M or 1G; "
              "0 is no limit");
    return -EINVAL;
  }
  store_set_mem_limit (device->store, bytes);
  return 0;
}

/* Of an attribute to which only one word can be written. */
static int
take_only (const char *word, const char *text, const char *sentence, char *why,
           size_t why_size)
{
  if (strcmp (text, word) == 0)
    return 0;
  snprintf (why, why_size, "%s", sentence);
  return -EINVAL;
}

static int
mem_used_max_write (const struct stats_device *device, const char *text,
                    struct chore_order *order, char *why, size_t why_size)
{
  int r = take_only ("0", text,
                     "mem_used_max takes 0, which resets it to what is used "
                     "now",
                     why, why_size);

  (void) order;
  if (r == 0)
    store_reset_mem_used_max (device->store);
  return r;
}

static int
idle_write (const struct stats_device *device, const char *text,
            struct chore_order *order, char *why, size_t why_size)
{
  (void) device;
  (void) order;
  return take_only ("all", text, "idle takes all, which marks every page", why,
                    why_size);
}

static int
reset_write (const struct stats_device *device, const char *text,
             struct chore_order *order, char *why, size_t why_size)
{
  int r = take_only ("1", text, "reset takes 1, which forgets every page", why,
                     why_size);

  (void) order;
  if (r < 0)
    return r;
  if (device->nr_clients > 0 || device->reset_begin (device->opaque) < 0) {
    snprintf (why, why_size, "the device is in use: a client has it open");
    return -EBUSY;
  }
  return 0;
}

/* Whatever is written. */
static int
compact_write (const struct stats_device *device, const char *text,
               struct chore_order *order, char *why, size_t why_size)
{
  (void) text;
  (void) why;
  (void) why_size;
  (void) order;
  (void) device;
  return 0;
}

static int
fail_not_auto (const struct stats_device *device, const char *what, char *why,
               size_t why_size)
{
  snprintf (why, why_size, "comp_algorithm is %s; auto is what %s",
            device->comp_algorithm, what);
  return -EINVAL;
}

/* As zram: in brackets if it is in use. */
static char *
recomp_algorithm_read (const struct stats_device *device)
{
  return strdup (device->recomp_level ? "#1: [zstd]\n" : "#1: zstd\n");
}

/* What is kept, and what was found in it; its directory is nobody's business. */
static char *
state_read (const struct stats_device *device)
{
  struct store_recovered is = store_recovered (device->store);
  struct store_stats s;

  if (!store_is_saved (device->store))
    return strdup ("none\n");
  store_stats (device->store, &s);
  return text_printf ("file             %s.zspage\n"
                      "checksum         %s\n"
                      "was_closed       %s\n"
                      "recovered_pages  %" PRIu64 "\n"
                      "lost_then        %" PRIu64 "\n"
                      "lost_pages       %" PRIu64 "\n"
                      "freed_pages      %" PRIu64 "\n"
                      "milliseconds     %" PRIu64 "\n",
                      device->name,
                      store_has_checks (device->store) ? "true" : "false",
                      is.is_new       ? "new"
                      : is.was_closed ? "true"
                                      : "false",
                      is.pages, is.lost, s.lost_pages, is.freed_pages, is.ms);
}

static int
recompress_write (const struct stats_device *device, const char *text,
                  struct chore_order *order, char *why, size_t why_size)
{
  if (device->recomp_level == 0)
    return fail_not_auto (device, "recompresses", why, why_size);
  return stats_recompress_parse (text, order, why, why_size);
}

static int
dictionary_write (const struct stats_device *device, const char *text,
                  struct chore_order *order, char *why, size_t why_size)
{
  int r = take_only ("train", text,
                     "dictionary takes train, which looks for a better one",
                     why, why_size);

  (void) order;
  if (r == 0 && device->recomp_level == 0)
    r = fail_not_auto (device, "trains dictionaries", why, why_size);
  return r;
}

/* An attribute that is read, written, both; one that orders a job. */
#define READ(n, r, h)                                                          \
  {                                                                            \
    .name = n, .help = h, .read = r                                            \
  }
#define WRITE(n, w, h)                                                         \
  {                                                                            \
    .name = n, .help = h, .write = w                                           \
  }
#define BOTH(n, r, w, h)                                                       \
  {                                                                            \
    .name = n, .help = h, .read = r, .write = w                                \
  }
#define ORDER(n, w, j, h)                                                      \
  {                                                                            \
    .name = n, .help = h, .write = w, .has_job = true, .job = j                \
  }

const struct stats_node stats_nodes[] = {
  READ ("mm_stat", stats_mm_stat, "zram's mm_stat: one line of nine figures"),
  READ ("io_stat", stats_io_stat, "zram's io_stat: one line of four figures"),
  READ ("bd_stat", stats_bd_stat,
        "zram's bd_stat: zeros, as there is no backing device"),
  READ ("debug_stat", stats_debug_stat, "zram's debug_stat"),
  READ ("classes", stats_classes,
        "zsmalloc's classes: a line for each size class"),
  {.name = "block_state",
   .help = "zram's block_state: a line for each stored page",
   .read = stats_block_state,
   .special = STATS_LONG},
  READ ("stats.json", stats_json, "all figures as JSON"),
  READ ("disksize", disksize_read, "size of the device, bytes"),
  READ ("initstate", initstate_read, "1"),
  READ ("comp_algorithm", comp_algorithm_read,
        "the algorithms, and in brackets the one in use"),
  READ ("algorithm_params", algorithm_params_read, "its parameters"),
  READ ("recomp_algorithm", recomp_algorithm_read,
        "in brackets, what pages are recompressed with, if they are"),
  ORDER ("recompress", recompress_write, JOB_RECOMPRESS,
         "write type=idle, huge or huge_idle, threshold=, max_pages=: "
         "recompress such pages now"),
  {.name = "dictionaries",
   .help = "a line for each dictionary that pages need",
   .read = stats_dictionaries,
   .special = STATS_LOOP},
  {.name = "dictionary",
   .help = "the newest, as zstd takes it; write train: look for a better one",
   .read = stats_dictionaries,
   .write = dictionary_write,
   .has_job = true,
   .job = JOB_TRAIN,
   .special = STATS_DICTIONARY},
  READ ("state", state_read,
        "the file that keeps the pages, and what was found in it"),
  BOTH ("mem_limit", mem_limit_read, mem_limit_write,
        "most memory for compressed pages, bytes; 0 is no limit"),
  WRITE ("mem_used_max", mem_used_max_write,
         "write 0: reset mem_used_max to what is used now"),
  ORDER ("compact", compact_write, JOB_COMPACT, "write anything: compact now"),
  ORDER ("idle", idle_write, JOB_IDLE,
         "write all: mark every page idle, until it is used"),
  ORDER ("reset", reset_write, JOB_RESET,
         "write 1: forget every page, of a device that nobody has open"),
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
