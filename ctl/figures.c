/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the table of figures.  Those of zramctl have its names here, which for
 * memory begin with MEM- otherwise.
 */

#include <config.h>

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "devices.h"
#include "figures.h"

#define DEVICE CTL_SUBJECT_DEVICE
#define DATA   CTL_SUBJECT_DATA
#define MEMORY CTL_SUBJECT_MEMORY
#define EVENTS CTL_SUBJECT_EVENTS
#define NONE   CTL_UNIT_NONE
#define TEXT   CTL_UNIT_TEXT
#define BYTES  CTL_UNIT_BYTES

const struct ctl_figure ctl_figures[] = {
  {"NAME", DEVICE, TEXT, NULL, "device", "name of the device"},
  {"ALGORITHM", DEVICE, TEXT, NULL, "comp_algorithm",
   "how pages are compressed"},
  {"LEVEL", DEVICE, NONE, NULL, "level", "and at which level"},
  {"CLIENTS", DEVICE, NONE, NULL, "clients",
   "connections that have the device open"},
  {"TIME", DEVICE, CTL_UNIT_TIME, NULL, NULL,
   "when this was asked, in local time"},

  {"DISKSIZE", DATA, BYTES, "memory", "disksize",
   "size of the device: the most that clients can store"},
  {"DATA", DATA, BYTES, "mm_stat", "orig_data_size",
   "what clients have stored, before compression"},
  {"SAME-PAGES", DATA, NONE, "mm_stat", "same_pages",
   "pages of DATA that repeat one word, and take no memory"},
  {"HUGE-PAGES", DATA, NONE, "mm_stat", "huge_pages",
   "pages of DATA that do not compress: a page of memory each"},

  {"IDLE-PAGES", DATA, NONE, "memory", "idle_pages",
   "pages of DATA not used since they were marked idle"},
  {"IDLE-SECONDS", DATA, NONE, "memory", "idle_seconds",
   "how long ago that was; 0 is never"},
  {"LZ4-PAGES", DATA, NONE, "compression", "lz4_pages",
   "pages of DATA compressed by lz4"},
  {"ZSTD-PAGES", DATA, NONE, "compression", "zstd_pages",
   "pages of DATA compressed by zstd"},
  {"DICT-PAGES", DATA, NONE, "compression", "dictionary_pages",
   "those of them that need a dictionary"},
  {"GENERATION", DATA, NONE, "compression", "generation",
   "the dictionary in use, 1 to 15; 0 is none"},
  {"SETTLED-PAGES", DATA, NONE, "compression", "settled_pages",
   "pages that were recompressed, or would gain nothing by it"},

  {"COMPR", MEMORY, BYTES, "mm_stat", "compr_data_size",
   "what DATA are after compression"},
  {"TOTAL", MEMORY, BYTES, "mm_stat", "mem_used_total",
   "memory for that: COMPR and what is lost in packing"},
  {"RATIO", MEMORY, CTL_UNIT_RATIO, NULL, NULL,
   "DATA / TOTAL: how much data a byte of memory holds"},
  {"MEM-LIMIT", MEMORY, BYTES, "mm_stat", "mem_limit",
   "the most that TOTAL may be; 0 is no limit"},
  {"MEM-USED", MEMORY, BYTES, "mm_stat", "mem_used_max",
   "the most that TOTAL has been"},
  {"MEM-META", MEMORY, BYTES, "memory", "mem_meta",
   "memory beside TOTAL: tables, descriptors and compressors"},
  {"MEM-DICT", MEMORY, BYTES, "compression", "dictionary_mem",
   "memory of dictionaries, which MEM-META counts too"},
  {"MEM-RESERVE", MEMORY, BYTES, "memory", "mem_reserve",
   "memory beside TOTAL: empty, kept ready for writes"},
  {"MEM-RESIDENT", MEMORY, BYTES, "memory", "mem_resident",
   "by the kernel's account: TOTAL, MEM-RESERVE, some of MEM-META"},
  {"MEM-FREEABLE", MEMORY, BYTES, "memory", "freeable",
   "what compaction could take off TOTAL now"},
  {"ALL-TOTAL", MEMORY, BYTES, "memory", "total_mem_used",
   "TOTAL of all devices together"},
  {"ALL-LIMIT", MEMORY, BYTES, "memory", "total_mem_limit",
   "the most that ALL-TOTAL may be; 0 is no limit"},

  {"MIGRATED", EVENTS, NONE, "mm_stat", "pages_compacted",
   "pages of memory that compaction has freed"},
  {"OBJECTS-MOVED", EVENTS, NONE, "memory", "objects_moved",
   "compressed pages that compaction has moved for that"},
  {"RECOMP-TRIED", EVENTS, NONE, "compression", "recompress_tried",
   "pages that recompression has tried"},
  {"RECOMP-WON", EVENTS, NONE, "compression", "recompress_won",
   "pages that it has made smaller by a size class or more"},
  {"RECOMP-SAVED", EVENTS, BYTES, "compression", "recompress_saved",
   "memory that this has saved, as far as the pages are still there"},
  {"RECOMP-SECONDS", EVENTS, NONE, "compression", "recompress_seconds",
   "processor time that it took"},
  {"HUGE-SINCE", EVENTS, NONE, "mm_stat", "huge_pages_since",
   "pages ever stored that did not compress"},
  {"FREED-PAGES", EVENTS, NONE, "io_stat", "notify_free",
   "pages that clients have trimmed or zeroed"},
  {"FAILED-READS", EVENTS, NONE, "io_stat", "failed_reads",
   "pages that could not be read: their data were damaged"},
  {"FAILED-WRITES", EVENTS, NONE, "io_stat", "failed_writes",
   "pages that could not be written: there was no memory"},
  {"RECOVERED", EVENTS, NONE, "state", "recovered_pages",
   "pages that were in the state file then"},
  {"LOST", EVENTS, NONE, "state", "lost_pages",
   "pages of it that cannot be trusted, and are not written yet"},
  {"INVALID-IO", EVENTS, NONE, "io_stat", "invalid_io",
   "always 0: bad requests are refused before they count"},
  {.column = NULL},
};
static_assert (sizeof ctl_figures / sizeof ctl_figures[0] <=
                 CTL_MAX_COLUMNS + 1,
               "a table has room for each");

const char *
ctl_subject_title (enum ctl_subject subject)
{
  static const char *const titles[CTL_NR_SUBJECTS] = {
    [CTL_SUBJECT_DEVICE] = "The device",
    [CTL_SUBJECT_DATA] = "Uncompressed data, as clients see them",
    [CTL_SUBJECT_MEMORY] = "Real memory of the server",
    [CTL_SUBJECT_EVENTS] = "What has happened since the server started",
  };

  return titles[subject];
}

const struct ctl_figure *
ctl_figure_by_column (const char *column, size_t len)
{
  const struct ctl_figure *f;

  for (f = ctl_figures; f->column != NULL; f++) {
    if (strlen (f->column) == len && strncasecmp (f->column, column, len) == 0)
      return f;
  }
  return NULL;
}

void
ctl_figure_key (const struct ctl_figure *figure, char key[32])
{
  size_t i;

  snprintf (key, 32, "%s", figure->column);
  for (i = 0; key[i] != '\0'; i++)
    key[i] = key[i] == '-' ? '_' : (char) tolower ((unsigned char) key[i]);
}

static json_t *
ratio_value (const json_t *device)
{
  const json_int_t data =
    ctl_device_count (device, "mm_stat", "orig_data_size");
  const json_int_t total =
    ctl_device_count (device, "mm_stat", "mem_used_total");

  if (total <= 0)
    return json_null ();
  return json_real ((double) data / (double) total);
}

static json_t *
time_value (void)
{
  const time_t now = time (NULL);
  char text[64];
  struct tm tm;

  localtime_r (&now, &tm);
  strftime (text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &tm);
  return json_string (text);
}

json_t *
ctl_figure_value (const struct ctl_figure *figure, const json_t *device)
{
  const json_t *value;

  if (figure->unit == CTL_UNIT_TIME)
    return time_value ();
  if (figure->unit == CTL_UNIT_RATIO)
    return ratio_value (device);
  value = ctl_device_figure (device, figure->group, figure->name);
  if (figure->unit == CTL_UNIT_TEXT ? !json_is_string (value)
                                    : !json_is_integer (value))
    return json_null ();
  return json_incref ((json_t *) value);
}

void
ctl_size_text (uint64_t bytes, char text[CTL_SIZE_LEN])
{
  static const char units[] = "BKMGTPE";
  unsigned shift = 0, unit = 0;
  uint64_t whole, tenths;

  while (bytes >> shift >= 1024) {
    shift += 10;
    unit++;
  }
  whole = bytes >> shift;
  /* The rest in tenths, rounded; shift is at least 10 if there is one. */
  tenths = unit > 0 ? ((bytes >> (shift - 10)) % 1024 * 10 + 512) / 1024 : 0;
  if (tenths == 10) {
    tenths = 0;
    whole++;
  }
  if (whole == 1024 && unit < sizeof units - 2) {
    whole = 1;
    unit++;
  }
  if (tenths > 0)
    snprintf (text, CTL_SIZE_LEN, "%" PRIu64 ".%u%c", whole, (unsigned) tenths,
              units[unit]);
  else
    snprintf (text, CTL_SIZE_LEN, "%" PRIu64 "%c", whole, units[unit]);
}

char *
ctl_figure_text (const struct ctl_figure *figure, const json_t *device,
                 bool in_bytes)
{
  json_t *value = ctl_figure_value (figure, device);
  char size[CTL_SIZE_LEN], *text = NULL;
  int r;

  if (json_is_string (value))
    r = asprintf (&text, "%s", json_string_value (value));
  else if (json_is_real (value))
    r = asprintf (&text, "%.2f", json_real_value (value));
  else if (!json_is_integer (value))
    r = asprintf (&text, "-");
  else if (figure->unit == CTL_UNIT_BYTES && !in_bytes) {
    ctl_size_text ((uint64_t) json_integer_value (value), size);
    r = asprintf (&text, "%s", size);
  }
  else
    r = asprintf (&text, "%" JSON_INTEGER_FORMAT, json_integer_value (value));
  json_decref (value);
  return r == -1 ? NULL : text;
}
