/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a device's shared mapping: a memfd, or a file on tmpfs.
 *
 *   +--------+----------------+----------------+---------------------------+
 *   | header |   slot table   | chunk records  | data: chunks of 2 MiB     |
 *   | 1 page | 8 bytes a page | 512 B a chunk  | (zspages, each contiguous)|
 *   +--------+----------------+----------------+---------------------------+
 *
 * All of it is sparse: what was never used takes no memory.  Each part starts
 * on a page.  Integers are in the machine's byte order; the magic tells it.
 *
 * The order that makes a kill at any instant survivable: a chunk's record is
 * written before an object is placed in the chunk, an object is complete
 * before its slot word is published by one atomic store, and the memory of the
 * old object is reused only after that.
 */
#ifndef ZSPAGE_FORMAT_H
#define ZSPAGE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "zspage-page.h"
#include "zspage-slot.h"

#define ZSPAGE_FORMAT_MAGIC   UINT64_C (0x313045474150535a) /* "ZSPAGE01" */
#define ZSPAGE_FORMAT_VERSION 1

#define ZSPAGE_CHUNK_SHIFT    21
#define ZSPAGE_CHUNK_SIZE     (1u << ZSPAGE_CHUNK_SHIFT)
#define ZSPAGE_CHUNK_PAGES    (ZSPAGE_CHUNK_SIZE / ZSPAGE_PAGE_SIZE)

/* Objects start at multiples of this, so a reference is an offset / 16. */
#define ZSPAGE_OBJECT_ALIGN 16u

/* An owner is a 32-bit page index of the device. */
#define ZSPAGE_MAX_DISKSIZE (UINT64_C (1) << 44)
/* What the slot word's reference can reach. */
#define ZSPAGE_MAX_DATA ((SLOT_REF_MAX + 1) * ZSPAGE_OBJECT_ALIGN)

struct zspage_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes; /* sizeof this struct */
  uint64_t disksize;     /* bytes, a multiple of the page size */
  uint64_t table_offset, records_offset, data_offset, file_bytes;
  uint32_t nr_chunks;
  uint32_t chunk_bytes;
  uint32_t page_bytes;
  uint32_t chain_size; /* pages, 4..16: decides the size classes */
};
static_assert (sizeof (struct zspage_header) == 72, "the header is a format");

/* What a chunk is used for.  A chunk in use holds zspages of one kind. */
enum zspage_chunk_kind {
  ZSPAGE_CHUNK_FREE = 0,
  /* 1..16: zspages of that many pages, of the classes in .classes */
  ZSPAGE_CHUNK_HUGE = 17, /* single pages, each one object without header */
  ZSPAGE_CHUNK_KINDS = 18,
};

/* classes[z] is the index of the size class of zspage z, + 1; 0 if the zspage
 * has none now.  One byte is taken by .kind, so a chunk of single pages that
 * are not huge has 511 of them.
 */
struct zspage_chunk_record {
  uint8_t kind;
  uint8_t classes[511];
};
static_assert (sizeof (struct zspage_chunk_record) == 512, "a format");

/* Before each object that is not huge: the page index of its owner, and a tag of
 * 8 bits, which is the checksum of its data.
 */
#define ZSPAGE_OBJECT_TAG    4u
#define ZSPAGE_OBJECT_HEADER 5u

#endif /* ZSPAGE_FORMAT_H */
