/* SPDX-License-Identifier: BSD-3-Clause */
/* See layout.h. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec.h"
#include "layout.h"
#include "size-class.h"

/* Fragmentation of address space is cheap, of memory it is not.  A chunk stays
 * with its chain length while anything is in it, and what is stored changes
 * its nature over time, so each chain length may come to hold as many chunks
 * as the whole device once took of it: the data may spread over the device
 * times the number of chain lengths, and once more for huge pages, and some
 * chunks for small devices.
 *
 * Mappings stay below 8 TiB where that is at least twice the device: Linux
 * counts the locked pages of a mapping in an int (mlock_fixup), and whoever may
 * lock without limit, but has no CAP_IPC_LOCK, could map no more memory.  The
 * largest devices get what 40 bits reach.
 */
#define DATA_SPARE (UINT64_C (64) << 20)
#define DATA_MOST  (UINT64_C (15) << 39) /* 7.5 TiB */

static_assert (ZSPAGE_DICTIONARY_BYTES == DICTIONARY_MAX, "a format");

static uint64_t
pages_up (uint64_t bytes)
{
  return zspage_align_up (bytes, ZSPAGE_PAGE_SIZE);
}

/* The offsets, which follow from the rest. */
static void
place_parts (struct zspage_header *h)
{
  uint64_t nr_pages = h->disksize / ZSPAGE_PAGE_SIZE, at = ZSPAGE_PAGE_SIZE;

  h->table_offset = at;
  at += pages_up (nr_pages * sizeof (uint64_t));
  if (h->features & ZSPAGE_FEATURE_CHECKS) {
    h->checks_offset = at;
    at += pages_up (nr_pages * sizeof (struct zspage_check));
  }
  h->records_offset = at;
  at +=
    pages_up ((uint64_t) h->nr_chunks * sizeof (struct zspage_chunk_record));
  h->dictionaries_offset = at;
  at += (uint64_t) h->nr_dictionaries * ZSPAGE_DICTIONARY_PLACE;
  h->data_offset = zspage_align_up (at, ZSPAGE_CHUNK_SIZE);
  h->file_bytes = h->data_offset + (uint64_t) h->nr_chunks * ZSPAGE_CHUNK_SIZE;
}

static uint64_t
checksum (const struct zspage_header *h)
{
  return codec_hash (h, offsetof (struct zspage_header, checksum));
}

int
layout_init (struct zspage_header *h, uint64_t disksize, unsigned chain_size,
             bool has_checks)
{
  uint64_t data_bytes;

  if (disksize == 0 || disksize % ZSPAGE_PAGE_SIZE != 0 ||
      disksize > ZSPAGE_MAX_DISKSIZE || chain_size < ZS_MIN_CHAIN ||
      chain_size > ZS_MAX_CHAIN)
    return -EINVAL;
  data_bytes = (chain_size + 1) * disksize + DATA_SPARE;
  if (data_bytes > DATA_MOST)
    data_bytes = disksize > DATA_MOST / 2 ? 2 * disksize : DATA_MOST;
  if (data_bytes > ZSPAGE_MAX_DATA)
    data_bytes = ZSPAGE_MAX_DATA;

  *h = (struct zspage_header){
    .magic = ZSPAGE_FORMAT_MAGIC,
    .version = ZSPAGE_FORMAT_VERSION,
    .header_bytes = sizeof *h,
    .features = ZSPAGE_FEATURE_LZ4 | ZSPAGE_FEATURE_ZSTD |
                (has_checks ? ZSPAGE_FEATURE_CHECKS : 0),
    .chain_size = chain_size,
    .page_bytes = ZSPAGE_PAGE_SIZE,
    .chunk_bytes = ZSPAGE_CHUNK_SIZE,
    .disksize = disksize,
    .nr_chunks = data_bytes / ZSPAGE_CHUNK_SIZE,
    .nr_dictionaries = SLOT_GEN_MAX,
  };
  place_parts (h);
  h->checksum = checksum (h);
  return 0;
}

/* Whether the geometry is one that layout_init, of whatever version, makes. */
static bool
geometry_is_possible (const struct zspage_header *h)
{
  struct zspage_header again = *h;

  if (h->disksize == 0 || h->disksize % ZSPAGE_PAGE_SIZE != 0 ||
      h->disksize > ZSPAGE_MAX_DISKSIZE || h->chain_size < ZS_MIN_CHAIN ||
      h->chain_size > ZS_MAX_CHAIN || h->nr_chunks == 0 ||
      h->nr_chunks > ZSPAGE_MAX_DATA / ZSPAGE_CHUNK_SIZE ||
      h->page_bytes != ZSPAGE_PAGE_SIZE ||
      h->chunk_bytes != ZSPAGE_CHUNK_SIZE ||
      h->nr_dictionaries != SLOT_GEN_MAX || h->header_bytes != sizeof *h)
    return false;
  again.checks_offset = 0;
  place_parts (&again);
  return memcmp (&again, h, sizeof again) == 0;
}

int
layout_check (const struct zspage_header *h, uint64_t file_bytes,
              char why[LAYOUT_WHY])
{
  if (h->magic == __builtin_bswap64 (ZSPAGE_FORMAT_MAGIC)) {
    snprintf (why, LAYOUT_WHY,
              "it was made by a machine of the other byte order");
    return -EPROTONOSUPPORT;
  }
  if (h->magic != ZSPAGE_FORMAT_MAGIC) {
    snprintf (why, LAYOUT_WHY,
              "it is not a state file: it does not begin with ZSPAGE01");
    return -EMEDIUMTYPE;
  }
  if (h->version != ZSPAGE_FORMAT_VERSION) {
    snprintf (why, LAYOUT_WHY,
              "it has version %" PRIu32 "; this server reads %d", h->version,
              ZSPAGE_FORMAT_VERSION);
    return -EPROTONOSUPPORT;
  }
  if (h->checksum != checksum (h)) {
    snprintf (why, LAYOUT_WHY, "its header is damaged: the checksum is wrong");
    return -EUCLEAN;
  }
  if (h->features & ~ZSPAGE_FEATURES) {
    snprintf (why, LAYOUT_WHY,
              "it has features (%#" PRIx32 ") that this server does not know",
              h->features & ~ZSPAGE_FEATURES);
    return -EPROTONOSUPPORT;
  }
  if (!geometry_is_possible (h)) {
    snprintf (why, LAYOUT_WHY,
              "its header is damaged: the geometry is "
              "impossible");
    return -EUCLEAN;
  }
  if (h->file_bytes != file_bytes) {
    snprintf (why, LAYOUT_WHY,
              "it has %" PRIu64 " bytes, and its header says %" PRIu64,
              file_bytes, h->file_bytes);
    return -EUCLEAN;
  }
  return 0;
}
