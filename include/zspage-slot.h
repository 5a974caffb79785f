/* SPDX-License-Identifier: BSD-3-Clause */
/* The slot word: 8 bytes a page of the device that say where the page is.
 * The slot table is the single source of truth about what is stored; all else
 * (free lists, fullness, counters) can be rebuilt from it.
 *
 *    63      60 59                              20 19       8 7     3 2   0
 *   +----------+----------------------------------+----------+-------+-----+
 *   | dict gen |  object: offset in the arena /16 |  length  | marks |kind |
 *   +----------+----------------------------------+----------+-------+-----+
 *   |            the repeated word, for the inline fills     | marks |kind |
 *   +--------------------------------------------------------+-------+-----+
 *
 * The all-zero word is an empty slot, so a sparse table needs no set-up.
 * Words are read and published with single atomic loads and stores.
 */
#ifndef ZSPAGE_SLOT_H
#define ZSPAGE_SLOT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "zspage-page.h"

enum slot_kind {
  SLOT_EMPTY = 0,    /* never written, trimmed or zeroed; reads as zeros */
  SLOT_FILL = 1,     /* a repeated 64-bit word < 2^56, inline */
  SLOT_FILL32 = 2,   /* a repeated 32-bit word, inline */
  SLOT_FILL_OBJ = 3, /* any other repeated 64-bit word: an 8-byte object */
  SLOT_RAW = 4,      /* "huge": an object of 4096 bytes, as written */
  SLOT_LZ4 = 5,      /* an object: one LZ4 block */
  SLOT_ZSTD = 6,     /* an object: one zstd frame without magic */
  SLOT_LOST = 7,     /* recovery could not trust this slot; reads fail */
};

#define SLOT_KIND_BITS  3
#define SLOT_MARK_SHIFT 3
#define SLOT_MARK_BITS  5
#define SLOT_LEN_SHIFT  8
#define SLOT_LEN_BITS   12
#define SLOT_REF_SHIFT  20
#define SLOT_REF_BITS   40
#define SLOT_GEN_SHIFT  60
#define SLOT_GEN_BITS   4
#define SLOT_FILL_SHIFT 8
#define SLOT_FILL_BITS  56
#define SLOT_GEN_MAX    ((1u << SLOT_GEN_BITS) - 1)
/* Marks, all gone when the page is written:
 *   idle            zram's, until the page is read
 *   old             not read since recompression last passed by
 *   in work         being recompressed now: the content is still what it was
 *   recompressed    by the strong codec
 *   incompressible  which gained nothing, and is not tried again
 */
#define SLOT_MARK_IDLE           (UINT64_C (1) << SLOT_MARK_SHIFT)
#define SLOT_MARK_OLD            (UINT64_C (2) << SLOT_MARK_SHIFT)
#define SLOT_MARK_IN_WORK        (UINT64_C (4) << SLOT_MARK_SHIFT)
#define SLOT_MARK_RECOMPRESSED   (UINT64_C (8) << SLOT_MARK_SHIFT)
#define SLOT_MARK_INCOMPRESSIBLE (UINT64_C (16) << SLOT_MARK_SHIFT)
#define SLOT_REF_MAX             ((UINT64_C (1) << SLOT_REF_BITS) - 1)

static_assert (SLOT_KIND_BITS + SLOT_MARK_BITS == SLOT_LEN_SHIFT, "slot");
static_assert (SLOT_LEN_SHIFT + SLOT_LEN_BITS == SLOT_REF_SHIFT, "slot");
static_assert (SLOT_REF_SHIFT + SLOT_REF_BITS == SLOT_GEN_SHIFT, "slot");
static_assert (SLOT_GEN_SHIFT + SLOT_GEN_BITS == 64, "slot");
static_assert (SLOT_FILL_SHIFT + SLOT_FILL_BITS == 64, "slot");
static_assert ((1u << SLOT_LEN_BITS) == ZSPAGE_PAGE_SIZE,
               "a compressed page is shorter than a page");

static inline enum slot_kind
slot_kind (uint64_t word)
{
  return (enum slot_kind) (word & ((1u << SLOT_KIND_BITS) - 1));
}

/* Whether the word refers to an object in the arena. */
static inline bool
slot_has_object (uint64_t word)
{
  return slot_kind (word) >= SLOT_FILL_OBJ && slot_kind (word) <= SLOT_ZSTD;
}

static inline bool
slot_is_fill (uint64_t word)
{
  return slot_kind (word) >= SLOT_FILL && slot_kind (word) <= SLOT_FILL_OBJ;
}

/* The object's reference: its offset in the arena's data, divided by 16. */
static inline uint64_t
slot_ref (uint64_t word)
{
  return (word >> SLOT_REF_SHIFT) & SLOT_REF_MAX;
}

/* Bytes of payload of the object, 1..4096. */
static inline uint32_t
slot_len (uint64_t word)
{
  if (slot_kind (word) == SLOT_RAW)
    return ZSPAGE_PAGE_SIZE;
  return (word >> SLOT_LEN_SHIFT) & ((1u << SLOT_LEN_BITS) - 1);
}

/* A word for an object of len payload bytes, 1..4095, or 4096 if raw. */
static inline uint64_t
slot_make_object (enum slot_kind kind, uint64_t ref, uint32_t len)
{
  assert (ref <= SLOT_REF_MAX);
  assert (kind == SLOT_RAW ? len == ZSPAGE_PAGE_SIZE
                           : len > 0 && len < ZSPAGE_PAGE_SIZE);
  return kind | (uint64_t) (len & ZSPAGE_PAGE_MASK) << SLOT_LEN_SHIFT |
         ref << SLOT_REF_SHIFT;
}

/* The same word, referring to another place. */
static inline uint64_t
slot_with_ref (uint64_t word, uint64_t ref)
{
  return (word & ~(SLOT_REF_MAX << SLOT_REF_SHIFT)) | ref << SLOT_REF_SHIFT;
}

/* The generation of the dictionary that an object needs; 0: none. */
static inline unsigned
slot_generation (uint64_t word)
{
  return word >> SLOT_GEN_SHIFT;
}

/* The same word, with a generation; it had none. */
static inline uint64_t
slot_with_generation (uint64_t word, unsigned generation)
{
  assert (generation <= SLOT_GEN_MAX && slot_generation (word) == 0);
  return word | (uint64_t) generation << SLOT_GEN_SHIFT;
}

/* A word for a page that repeats value; 0 if that does not fit inline. */
static inline uint64_t
slot_make_fill (uint64_t value)
{
  if (value >> SLOT_FILL_BITS == 0)
    return SLOT_FILL | value << SLOT_FILL_SHIFT;
  if (value >> 32 == (value & UINT32_MAX))
    return SLOT_FILL32 | (value & UINT32_MAX) << SLOT_FILL_SHIFT;
  return 0;
}

/* The word that an inline fill repeats. */
static inline uint64_t
slot_fill_value (uint64_t word)
{
  uint64_t value = word >> SLOT_FILL_SHIFT;

  if (slot_kind (word) == SLOT_FILL32)
    value = (value & UINT32_MAX) | value << 32;
  return value;
}

/* Whether the page is known to be all zeros without looking at any object. */
static inline bool
slot_reads_as_zeros (uint64_t word)
{
  return word == 0 ||
         (slot_kind (word) == SLOT_FILL && slot_fill_value (word) == 0);
}

#endif /* ZSPAGE_SLOT_H */
