/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of figures.  mm_stat and io_stat follow the Linux document
 * Documentation/admin-guide/blockdev/zram.rst.
 */
#include <config.h>

#include "metrics.h"

#define AT(field) offsetof (struct store_stats, field)

const struct metric metrics[] = {
  {"orig_data_size", "orig_data_size_bytes", GROUP_MM_STAT, UNIT_BYTES, 0,
   AT (orig_data_size),
   "uncompressed size of the pages stored, same-filled ones too", 0},
  {"compr_data_size", "compr_data_size_bytes", GROUP_MM_STAT, UNIT_BYTES, 0,
   AT (compr_data_size),
   "size of those pages as stored; a huge page counts 4096", 0},
  {"mem_used_total", "mem_used_bytes", GROUP_MM_STAT, UNIT_BYTES, 0,
   AT (mem_used_total),
   "memory of the zspages that hold them, fragmentation included", 0},
  {"mem_limit", "mem_limit_bytes", GROUP_MM_STAT, UNIT_BYTES, 0, AT (mem_limit),
   "the most that mem_used_total may be; 0 is no limit", 0},
  {"mem_used_max", "mem_used_max_bytes", GROUP_MM_STAT, UNIT_BYTES, 0,
   AT (mem_used_max), "the highest mem_used_total so far", 0},
  {"same_pages", "same_pages", GROUP_MM_STAT, UNIT_PAGES, 0, AT (same_pages),
   "pages that repeat one word, stored without memory of their own", 0},
  {"pages_compacted", "compacted_pages", GROUP_MM_STAT, UNIT_PAGES, 1,
   AT (pages_compacted), "pages of memory freed by compaction", 0},
  {"huge_pages", "huge_pages", GROUP_MM_STAT, UNIT_PAGES, 0, AT (huge_pages),
   "incompressible pages now stored", 0},
  {"huge_pages_since", "stored_huge_pages", GROUP_MM_STAT, UNIT_PAGES, 1,
   AT (huge_pages_since), "incompressible pages ever stored", 0},

  {"failed_reads", "failed_read_pages", GROUP_IO_STAT, UNIT_PAGES, 1,
   AT (failed_reads), "pages that could not be read: their data are damaged",
   0},
  {"failed_writes", "failed_write_pages", GROUP_IO_STAT, UNIT_PAGES, 1,
   AT (failed_writes),
   "pages that could not be written: no memory within the limit", 0},
  {"invalid_io", "invalid_requests", GROUP_IO_STAT, UNIT_COUNT, 1,
   AT (invalid_io),
   "always 0: requests beyond the device are refused before they count", 0},
  {"notify_free", "freed_pages", GROUP_IO_STAT, UNIT_PAGES, 1, AT (notify_free),
   "pages covered by trims and zeroes", 0},

  {"disksize", "disksize_bytes", GROUP_MEMORY, UNIT_BYTES, 0, AT (disksize),
   "size of the device", 0},
  {"mem_meta", "mem_meta_bytes", GROUP_MEMORY, UNIT_BYTES, 0, AT (mem_meta),
   "slot table, zspage descriptors, codec contexts and dictionaries", 0},
  {"mem_reserve", "mem_reserve_bytes", GROUP_MEMORY, UNIT_BYTES, 0,
   AT (mem_reserve), "memory kept ready for writes: stock and reserve", 0},
  {"mem_resident", "mem_resident_bytes", GROUP_MEMORY, UNIT_BYTES, 0,
   AT (mem_resident), "memory of the shared mapping by the kernel's account",
   0},
  {"freeable", "freeable_bytes", GROUP_MEMORY, UNIT_BYTES, 0, AT (freeable),
   "memory that compaction could free now", 0},
  {"objects_moved", "moved_objects", GROUP_MEMORY, UNIT_COUNT, 1,
   AT (objects_moved), "objects copied by compaction", 0},
  {"idle_pages", "idle_pages", GROUP_MEMORY, UNIT_PAGES, 0, AT (idle_pages),
   "pages not used since they were marked idle", 0},
  {"idle_seconds", "idle_seconds", GROUP_MEMORY, UNIT_SECONDS, 0,
   AT (idle_seconds), "how long ago that was; 0 is never", 0},
  {"total_mem_used", "total_mem_used_bytes", GROUP_MEMORY, UNIT_BYTES, 0,
   AT (total_mem_used), "mem_used_total of all devices together", 1},
  {"total_mem_limit", "total_mem_limit_bytes", GROUP_MEMORY, UNIT_BYTES, 0,
   AT (total_mem_limit), "the most that this may be; 0 is no limit", 1},

  {"lz4_pages", "lz4_pages", GROUP_COMPRESSION, UNIT_PAGES, 0, AT (lz4_pages),
   "pages compressed by lz4", 0},
  {"zstd_pages", "zstd_pages", GROUP_COMPRESSION, UNIT_PAGES, 0,
   AT (zstd_pages), "pages compressed by zstd, with a dictionary or without",
   0},
  {"dictionary_pages", "dictionary_pages", GROUP_COMPRESSION, UNIT_PAGES, 0,
   AT (dictionary_pages), "pages that need a dictionary", 0},
  {"dictionary_mem", "dictionary_mem_bytes", GROUP_COMPRESSION, UNIT_BYTES, 0,
   AT (dictionary_bytes),
   "memory of the dictionaries, which mem_meta counts too", 0},
  {"generation", "dictionary_generation", GROUP_COMPRESSION, UNIT_COUNT, 0,
   AT (generation),
   "the dictionary that pages are compressed with now, 1 to 15; 0 is none", 0},
  {"settled_pages", "settled_pages", GROUP_COMPRESSION, UNIT_PAGES, 0,
   AT (settled_pages),
   "pages that were recompressed, or would gain nothing by it", 0},
  {"recompress_tried", "recompress_tried_pages", GROUP_COMPRESSION, UNIT_PAGES,
   1, AT (recompress_tried), "pages that recompression has tried", 0},
  {"recompress_won", "recompress_won_pages", GROUP_COMPRESSION, UNIT_PAGES, 1,
   AT (recompress_won),
   "pages that it has made smaller by a size class or more", 0},
  {"recompress_saved", "recompress_saved_bytes", GROUP_COMPRESSION, UNIT_BYTES,
   1, AT (recompress_saved), "what these no longer take", 0},
  {"recompress_seconds", "recompress_cpu_seconds", GROUP_COMPRESSION,
   UNIT_SECONDS, 1, AT (recompress_seconds), "processor time that it took", 0},

  {"recovered_pages", "recovered_pages", GROUP_STATE, UNIT_PAGES, 0,
   AT (recovered_pages), "pages that were in the state file at the start", 0},
  {"lost_pages", "lost_pages", GROUP_STATE, UNIT_PAGES, 0, AT (lost_pages),
   "pages of it that cannot be trusted: reading them fails until they are "
   "written",
   0},

  {.name = NULL},
};

const char *
metric_group_name (enum metric_group group)
{
  static const char *const names[GROUP_COUNT] = {
    [GROUP_MM_STAT] = "mm_stat", [GROUP_IO_STAT] = "io_stat",
    [GROUP_MEMORY] = "memory",   [GROUP_COMPRESSION] = "compression",
    [GROUP_STATE] = "state",
  };

  return names[group];
}

const char *
metric_unit_name (enum metric_unit unit)
{
  static const char *const names[] = {
    [UNIT_BYTES] = "bytes",
    [UNIT_PAGES] = "pages",
    [UNIT_SECONDS] = "seconds",
    [UNIT_COUNT] = "count",
  };

  return names[unit];
}
