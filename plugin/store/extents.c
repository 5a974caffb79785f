/* SPDX-License-Identifier: BSD-3-Clause */
/* Which parts of the device read as zeros. */
#include "store-internal.h"

/* Which of the slots [first, end) of one table page read as zeros, as bits;
 * false if the table page has no memory, so that all do.
 */
static bool
zero_bits (struct store *store, uint64_t first, uint64_t end,
           uint64_t bits[SLOTS_PER_TABLE_PAGE / 64])
{
  uint64_t table_page = table_page_of (first);
  struct stripe *group = group_of (store, table_page);
  bool present;
  uint64_t idx;

  memset (bits, 0, SLOTS_PER_TABLE_PAGE / 8);
  group_lock (group);
  present = table_is_present (store, table_page);
  for (idx = first; present && idx < end; ++idx)
    if (slot_reads_as_zeros (slot_get_locked (store, idx)))
      bits[(idx - first) / 64] |= UINT64_C (1) << (idx - first) % 64;
  group_unlock (group);
  return present;
}

/* Joins what it is told, and clips it to the range asked for. */
struct joiner {
  bool (*fn) (void *opaque, uint64_t offset, uint64_t len, bool zero);
  void *opaque;
  uint64_t end;   /* of the range asked for, bytes */
  uint64_t start; /* of the pending extent */
  bool zero;
  bool stopped;
};

/* The pages before idx, since the last call, are like the pending extent;
 * those from idx on are zero or not.
 */
static void
joiner_from (struct joiner *j, uint64_t idx, bool zero)
{
  uint64_t at = idx * ZSPAGE_PAGE_SIZE;

  if (at <= j->start) {
    j->zero = zero; /* nothing is pending */
    return;
  }
  if (zero == j->zero)
    return;
  if (!j->stopped && !j->fn (j->opaque, j->start, at - j->start, j->zero))
    j->stopped = true;
  j->start = at;
  j->zero = zero;
}

int
store_extents (struct store *store, uint64_t len, uint64_t offset,
               bool (*fn) (void *opaque, uint64_t offset, uint64_t len,
                           bool zero),
               void *opaque)
{
  struct joiner j = {.fn = fn,
                     .opaque = opaque,
                     .end = offset + len,
                     .start = offset,
                     .zero = true};
  uint64_t bits[SLOTS_PER_TABLE_PAGE / 64];
  uint64_t idx, end, next, table_page;

  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  if (len == 0)
    return 0;
  idx = offset >> ZSPAGE_PAGE_SHIFT;
  end = (offset + len - 1) / ZSPAGE_PAGE_SIZE + 1;

  while (idx < end && !j.stopped) {
    table_page = table_next_present (store, table_page_of (idx),
                                     table_page_of (end - 1) + 1);
    if (table_page * SLOTS_PER_TABLE_PAGE > idx) {
      joiner_from (&j, idx, true);
      idx = table_page * SLOTS_PER_TABLE_PAGE;
      continue;
    }
    next = (table_page + 1) * SLOTS_PER_TABLE_PAGE;
    if (next > end)
      next = end;
    if (zero_bits (store, idx, next, bits)) {
      uint64_t i;

      for (i = idx; i < next; ++i)
        joiner_from (&j, i, bits[(i - idx) / 64] >> (i - idx) % 64 & 1);
    }
    else
      joiner_from (&j, idx, true);
    idx = next;
  }
  if (!j.stopped && j.start < j.end)
    fn (opaque, j.start, j.end - j.start, j.zero);
  return 0;
}
