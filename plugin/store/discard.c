/* SPDX-License-Identifier: BSD-3-Clause */
/* TRIM and WRITE_ZEROES: slots become empty, their objects are freed.
 *
 * Only table pages that have memory are looked at, so an empty device of any
 * size takes no time.  Slots of a table page are emptied in one go; when all
 * 512 are, the table page goes back to the kernel, unless the table stays.  That
 * is one step of a guest's cluster trim, which is 2 MiB, so that no lock is held
 * for long.
 */
#include "store-internal.h"

#include "fault-point.h"

/* What freeing an object touches is asked for while so many others are freed. */
#define FREES_AHEAD 8u

static void
empty_slots_locked (struct store *store, struct stripe *group, uint64_t first,
                    uint64_t end, uint64_t *words)
{
  uint64_t idx;

  for (idx = first; idx < end; ++idx) {
    uint64_t word = slot_get_locked (store, idx);

    words[idx - first] = word;
    if (word)
      slot_publish_locked (store, &group[idx % STRIPES_PER_GROUP], idx, 0);
  }
}

static bool
table_page_is_empty_locked (const struct store *store, uint64_t table_page)
{
  uint64_t idx = table_page * SLOTS_PER_TABLE_PAGE;
  uint64_t end = idx + SLOTS_PER_TABLE_PAGE;

  end = end < store->nr_pages ? end : store->nr_pages;
  while (idx < end && slot_get_locked (store, idx) == 0)
    ++idx;
  return idx == end;
}

/* Give back the memory of a table page that was empty a moment ago. */
static void
table_page_release (struct store *store, uint64_t table_page)
{
  struct stripe *group = group_of (store, table_page);

  ranked_lock (&store->table_lock);
  group_lock (group);
  if (table_is_present (store, table_page) &&
      table_page_is_empty_locked (store, table_page))
    table_release_locked (store, table_page);
  group_unlock (group);
  ranked_unlock (&store->table_lock);
}

/* Slots [first, end) of one table page, which was present a moment ago. */
static void
discard_in_table_page (struct store *store, uint64_t first, uint64_t end)
{
  uint64_t words[SLOTS_PER_TABLE_PAGE];
  uint64_t i, table_page = table_page_of (first);
  struct stripe *group = group_of (store, table_page);
  bool present, empty = false;

  group_lock (group);
  present = table_is_present (store, table_page);
  if (present) {
    empty_slots_locked (store, group, first, end, words);
    empty = table_page_is_empty_locked (store, table_page);
  }
  group_unlock (group);
  if (!present)
    return;
  FAULT_POINT ("discard: slots emptied");
  for (i = 0; i < end - first; ++i) {
    if (i + FREES_AHEAD < end - first &&
        slot_has_object (words[i + FREES_AHEAD]))
      zs_prefetch_free (store->pool, slot_ref (words[i + FREES_AHEAD]));
    object_free (store, first + i, words[i]);
  }
  if (empty && !store->table_stays)
    table_page_release (store, table_page);
}

static void
discard_pages (struct store *store, uint64_t first, uint64_t end)
{
  uint64_t table_page, table_end;

  if (first >= end)
    return;
  atomic_fetch_add_explicit (&store->notify_free, end - first,
                             memory_order_relaxed);
  table_end = table_page_of (end - 1) + 1;
  table_page = table_next_present (store, table_page_of (first), table_end);
  while (table_page < table_end) {
    uint64_t a = table_page * SLOTS_PER_TABLE_PAGE;
    uint64_t b = a + SLOTS_PER_TABLE_PAGE;

    discard_in_table_page (store, a > first ? a : first, b < end ? b : end);
    table_page = table_next_present (store, table_page + 1, table_end);
  }
}

int
store_trim (struct store *store, uint64_t len, uint64_t offset)
{
  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  discard_pages (store, (offset + ZSPAGE_PAGE_MASK) >> ZSPAGE_PAGE_SHIFT,
                 (offset + len) >> ZSPAGE_PAGE_SHIFT);
  return 0;
}

/* Zero part of a page, if it holds anything but zeros. */
static int
zero_part (struct store *store, uint64_t idx, size_t within, size_t len)
{
  struct stripe *stripe = slot_lock_present (store, idx);
  bool is_zero;

  if (stripe == NULL)
    return 0;
  is_zero = slot_reads_as_zeros (slot_get_locked (store, idx));
  slot_unlock (stripe);
  return is_zero ? 0 : page_write_part (store, idx, NULL, within, len);
}

int
store_zero (struct store *store, uint64_t len, uint64_t offset)
{
  uint64_t first = (offset + ZSPAGE_PAGE_MASK) >> ZSPAGE_PAGE_SHIFT;
  uint64_t end = (offset + len) >> ZSPAGE_PAGE_SHIFT;
  size_t head = -offset & ZSPAGE_PAGE_MASK;
  size_t tail = (offset + len) & ZSPAGE_PAGE_MASK;
  int r = 0;

  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  if (head > len) { /* within one page, touching neither edge */
    head = len;
    tail = 0;
  }

  if (head > 0) {
    r = zero_part (store, first - 1, offset & ZSPAGE_PAGE_MASK, head);
    if (r < 0)
      count_failed_writes (store, first - 1, 1);
  }
  if (r == 0)
    discard_pages (store, first, end);
  if (r == 0 && tail > 0) {
    r = zero_part (store, end, 0, tail);
    if (r < 0)
      count_failed_writes (store, end, 1);
  }
  return r;
}
