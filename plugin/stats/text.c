/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts that the kernel has for zram and zsmalloc, to the byte. */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dictionary.h"
#include "metrics.h"
#include "stats.h"
#include "zspage-slot.h"

static char *
group_line (const struct stats_device *device, enum metric_group group)
{
  struct store_stats stats;
  const struct metric *m;
  const char *sep = "";
  char *text = NULL;
  size_t len;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  store_stats (device->store, &stats);
  for (m = metrics; m->name; ++m) {
    if (m->group != group)
      continue;
    fprintf (fp, "%s%8" PRIu64, sep, metric_value (m, &stats));
    sep = " ";
  }
  fputc ('\n', fp);
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}

char *
stats_mm_stat (const struct stats_device *device)
{
  return group_line (device, GROUP_MM_STAT);
}

char *
stats_io_stat (const struct stats_device *device)
{
  return group_line (device, GROUP_IO_STAT);
}

/* There is no backing device. */
char *
stats_bd_stat (const struct stats_device *device)
{
  char *text;

  (void) device;
  if (asprintf (&text, "%8d %8d %8d\n", 0, 0, 0) == -1)
    return NULL;
  return text;
}

/* Writers stall, and frees miss, never. */
char *
stats_debug_stat (const struct stats_device *device)
{
  char *text;

  (void) device;
  if (asprintf (&text, "version: %d\n%8d %8d\n", 1, 0, 0) == -1)
    return NULL;
  return text;
}

static bool
block_state_row (void *opaque, uint64_t page, unsigned flags)
{
  /* Times of access are not kept. */
  fprintf (opaque, "%12" PRIu64 " %12d.%06d %c.%c%c%c%c\n", page, 0, 0,
           flags & STORE_PAGE_SAME ? 's' : '.',
           flags & STORE_PAGE_HUGE ? 'h' : '.',
           flags & STORE_PAGE_IDLE ? 'i' : '.',
           flags & STORE_PAGE_RECOMPRESSED ? 'r' : '.',
           flags & STORE_PAGE_INCOMPRESSIBLE ? 'n' : '.');
  return true;
}

char *
stats_block_state (const struct stats_device *device)
{
  char *text = NULL;
  size_t len;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  store_for_each_page (device->store, 0, block_state_row, fp);
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}

struct part {
  FILE *fp;
  size_t room;
  uint64_t next;
};

static bool
part_row (void *opaque, uint64_t page, unsigned flags)
{
  struct part *part = opaque;

  part->next = page;
  if (part->room < BLOCK_STATE_ROW_BYTES)
    return false;
  part->room -= BLOCK_STATE_ROW_BYTES;
  part->next = page + 1;
  return block_state_row (part->fp, page, flags);
}

size_t
stats_block_state_part (struct store *store, uint64_t *page, char *buf,
                        size_t size)
{
  struct part part = {fmemopen (buf, size, "w"), size, *page};

  if (part.fp == NULL)
    return 0;
  setvbuf (part.fp, NULL, _IONBF, 0);
  store_for_each_page (store, *page, part_row, &part);
  fclose (part.fp);
  *page = part.next;
  return (size - part.room);
}

static void
classes_row (FILE *fp, const struct zs_class_stats *c)
{
  unsigned g;

  for (g = 0; g < ZS_NR_GROUPS; ++g)
    fprintf (fp, " %9zu", c->groups[g]);
  fprintf (fp, " %13zu %10zu %10zu", c->obj_allocated, c->obj_used,
           c->pages_used);
}

char *
stats_classes (const struct stats_device *device)
{
  static const char *const groups[ZS_NR_GROUPS] = {
    "10%", "20%", "30%", "40%", "50%",  "60%",
    "70%", "80%", "90%", "99%", "100%",
  };
  struct zs_class_stats c, total = {0};
  char *text = NULL;
  size_t len;
  unsigned i, g;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  fprintf (fp, " %5s %5s", "class", "size");
  for (g = 0; g < ZS_NR_GROUPS; ++g)
    fprintf (fp, " %9s", groups[g]);
  fprintf (fp, " %13s %10s %10s %16s %8s\n", "obj_allocated", "obj_used",
           "pages_used", "pages_per_zspage", "freeable");

  for (i = 0; i < ZS_NR_SIZES; ++i) {
    if (!store_class_stats (device->store, i, &c))
      continue;
    fprintf (fp, " %5u %5u", c.index, c.size);
    classes_row (fp, &c);
    fprintf (fp, " %16u %8zu\n", c.pages_per_zspage, c.freeable);
    for (g = 0; g < ZS_NR_GROUPS; ++g)
      total.groups[g] += c.groups[g];
    total.obj_allocated += c.obj_allocated;
    total.obj_used += c.obj_used;
    total.pages_used += c.pages_used;
    total.freeable += c.freeable;
  }
  fprintf (fp, "\n %5s %5s", "Total", "");
  classes_row (fp, &total);
  fprintf (fp, " %16s %8zu\n", "", total.freeable);
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}

char *
stats_dictionaries (const struct stats_device *device)
{
  unsigned g, newest = store_generation (device->store);
  char *text = NULL;
  size_t len;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  fprintf (fp, "%10s %8s %12s %12s %12s %6s\n", "generation", "bytes", "memory",
           "pages", "id", "newest");
  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    uint64_t pages;
    size_t bytes;
    const struct dictionary *d = store_dictionary (device->store, g, &pages);

    if (d == NULL)
      continue;
    dictionary_bytes (d, &bytes);
    fprintf (fp, "%10u %8zu %12zu %12" PRIu64 " %12" PRIu32 " %6s\n", g, bytes,
             dictionary_memory (d), pages, dictionary_id (d),
             g == newest ? "*" : "-");
  }
  if (fclose (fp) != 0) {
    free (text);
    return NULL;
  }
  return text;
}
