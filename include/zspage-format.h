/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a device's shared mapping: a memfd, or with state=DIR a file.
 *
 *   +--------+-------+--------+---------------+--------------+--------------+
 *   | header | slot  | checks | chunk records | dictionaries | data: chunks |
 *   |        | table |        |               |              | of 2 MiB     |
 *   | 1 page | 8 B a | 16 B a | 512 B a chunk | 15 places of | (zspages,    |
 *   |        | page  | page   |               | 260 KiB      | contiguous)  |
 *   +--------+-------+--------+---------------+--------------+--------------+
 *
 * All of it is sparse: what was never used takes no memory.  Each part starts
 * on a page.  Integers are in the machine's byte order; the magic tells it.
 *
 * The order that makes a kill at any instant survivable: a chunk's record is
 * written before an object is placed in the chunk, a dictionary before a page is
 * compressed with it, an object is complete before its slot word is published by
 * one atomic store, and the memory of the old object is reused only after that.
 * What the kernel has of a killed process is all that its threads had stored,
 * each in its program's order.
 *
 * Who has a file open for writing holds an exclusive flock on it.
 */
#ifndef ZSPAGE_FORMAT_H
#define ZSPAGE_FORMAT_H

#include <assert.h>
#include <stddef.h>
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

/* What a reader must know of to make sense of a file. */
#define ZSPAGE_FEATURE_LZ4    1u /* pages of these kinds may be there */
#define ZSPAGE_FEATURE_ZSTD   2u
#define ZSPAGE_FEATURE_CHECKS 4u /* the part of that name is used */
#define ZSPAGE_FEATURES       7u

struct zspage_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes; /* sizeof this struct */
  uint32_t features;     /* a file with others is refused */
  uint32_t chain_size;   /* pages, 4..16: decides the size classes */
  uint32_t page_bytes, chunk_bytes;
  uint64_t disksize; /* bytes, a multiple of the page size */
  /* Bytes from the start.  checks_offset: 0 if the device has none. */
  uint64_t table_offset, checks_offset, records_offset, dictionaries_offset,
    data_offset, file_bytes;
  uint32_t nr_chunks;
  uint32_t nr_dictionaries;
  uint64_t checksum; /* XXH3, 64 bits, of all before */

  /* What changes. */
  uint32_t pid;        /* who has it open, or died with it; 0: nobody */
  uint32_t was_closed; /* 1: the last one ended as it should */
  uint32_t generation; /* of the dictionary that is current; 0: none */
  uint32_t boot;       /* XXH3 of the machine's boot ID then; 0: not known */
};
static_assert (sizeof (struct zspage_header) == 120, "the header is a format");
static_assert (offsetof (struct zspage_header, checksum) == 96, "a format");
static_assert (offsetof (struct zspage_header, pid) == 104, "a format");

/* Two checks of a page's slot word, of all but its place and marks, and of its
 * object's data, with its index: XXH3, 64 bits; 0 for an empty slot.  Either may
 * be right: who publishes a word sets before to now, then now to the new one's,
 * then the word, then before.
 */
struct zspage_check {
  uint64_t now, before;
};
static_assert (sizeof (struct zspage_check) == 16, "a format");

/* Place g - 1 has that of generation g: a page with this at its start, then len
 * bytes.  A place without memory has none.
 */
struct zspage_saved_dictionary {
  uint64_t checksum; /* XXH3, 64 bits, of the bytes */
  uint64_t len;
};
static_assert (sizeof (struct zspage_saved_dictionary) == 16, "a format");
#define ZSPAGE_DICTIONARY_BYTES (256u * 1024) /* the most */
#define ZSPAGE_DICTIONARY_PLACE (ZSPAGE_DICTIONARY_BYTES + ZSPAGE_PAGE_SIZE)

/* What a chunk is used for.  A chunk in use holds zspages of one kind. */
enum zspage_chunk_kind {
  ZSPAGE_CHUNK_FREE = 0,
  /* 1..16: zspages of that many pages, of the classes in .classes */
  ZSPAGE_CHUNK_HUGE = 17, /* single pages, each one object without header */
  ZSPAGE_CHUNK_KINDS = 18,
};

/* classes[z] is the index of the size class of zspage z, + 1, if any slot refers
 * to an object in it; else it is anything.  Of a huge zspage it is the object's
 * tag instead.  One byte is taken by .kind, so a chunk of single pages has 511 of
 * them.
 */
struct zspage_chunk_record {
  uint8_t kind;
  uint8_t classes[511];
};
static_assert (sizeof (struct zspage_chunk_record) == 512, "a format");

/* Before each object that is not huge: the page index of its owner, and a tag of
 * 8 bits, which is the low byte of XXH3, 64 bits, of its data.
 */
#define ZSPAGE_OBJECT_TAG    4u
#define ZSPAGE_OBJECT_HEADER 5u

#endif /* ZSPAGE_FORMAT_H */
