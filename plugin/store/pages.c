/* SPDX-License-Identifier: BSD-3-Clause */
/* What concerns every stored page: walking over them, marking them idle,
 * forgetting them.
 */
#include "store-internal.h"

#include <time.h>

static unsigned
page_flags (uint64_t word)
{
  return (slot_is_fill (word) ? STORE_PAGE_SAME : 0) |
         (slot_kind (word) == SLOT_RAW ? STORE_PAGE_HUGE : 0) |
         (word & SLOT_MARK_IDLE ? STORE_PAGE_IDLE : 0) |
         (word & SLOT_MARK_RECOMPRESSED ? STORE_PAGE_RECOMPRESSED : 0) |
         (word & SLOT_MARK_INCOMPRESSIBLE ? STORE_PAGE_INCOMPRESSIBLE : 0) |
         (slot_kind (word) == SLOT_LOST ? STORE_PAGE_LOST : 0);
}

/* Copy the words of a table page, and mark them idle if asked to.  False if
 * it has no memory, so that nothing is stored there.
 */
static bool
table_page_copy (struct store *store, uint64_t table_page, bool mark_idle,
                 uint64_t words[SLOTS_PER_TABLE_PAGE])
{
  struct stripe *group = group_of (store, table_page);
  uint64_t first = table_page * SLOTS_PER_TABLE_PAGE, i;
  bool present;

  group_lock (group);
  present = table_is_present (store, table_page);
  for (i = 0; present && i < SLOTS_PER_TABLE_PAGE; ++i) {
    words[i] = slot_get_locked (store, first + i);
    if (mark_idle && words[i] != 0 && !(words[i] & SLOT_MARK_IDLE)) {
      slot_repoint_locked (store, first + i, words[i] | SLOT_MARK_IDLE);
      count_locked (&group[i % STRIPES_PER_GROUP].counters.idle_pages, 1);
    }
  }
  group_unlock (group);
  return present;
}

static int64_t
monotonic_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1; /* never 0 */
}

int64_t
store_idle_seconds (const struct store *store)
{
  int64_t at = atomic_load_explicit (&store->marked_at, memory_order_relaxed);

  return at ? monotonic_seconds () - at : 0;
}

bool
store_mark_idle_slice (struct store *store, uint64_t *at)
{
  uint64_t words[SLOTS_PER_TABLE_PAGE];
  uint64_t end = store->nr_table_pages;

  if (*at == 0)
    atomic_store (&store->marked_at, monotonic_seconds ());
  *at = table_next_present (store, *at, end);
  if (*at < end)
    table_page_copy (store, (*at)++, true, words);
  return *at < end;
}

void
store_for_each_page (struct store *store, uint64_t first,
                     bool (*fn) (void *opaque, uint64_t page, unsigned flags),
                     void *opaque)
{
  uint64_t words[SLOTS_PER_TABLE_PAGE];
  uint64_t end = store->nr_table_pages, t, i;

  for (t = table_next_present (store, table_page_of (first), end); t < end;
       t = table_next_present (store, t + 1, end)) {
    if (!table_page_copy (store, t, false, words))
      continue;
    for (i = 0; i < SLOTS_PER_TABLE_PAGE; ++i)
      if (words[i] != 0 && t * SLOTS_PER_TABLE_PAGE + i >= first &&
          !fn (opaque, t * SLOTS_PER_TABLE_PAGE + i, page_flags (words[i])))
        return;
  }
}

static void
counts_reset (struct store *store)
{
  unsigned i;

  for (i = 0; i < NR_STRIPES; ++i) {
    struct stripe *s = &store->stripes[i];

    ranked_lock (&s->lock);
    atomic_store (&s->counters.huge_pages_since, 0);
    atomic_store (&s->counters.failed_reads, 0);
    atomic_store (&s->counters.failed_writes, 0);
    ranked_unlock (&s->lock);
  }
  atomic_store (&store->notify_free, 0);
  dictionaries_reset (store);
  atomic_fetch_add (&store->resets, 1);
  atomic_store (&store->recompressed.tried, 0);
  atomic_store (&store->recompressed.won, 0);
  atomic_store (&store->recompressed.saved, 0);
  atomic_store (&store->recompressed.ns, 0);
  atomic_store (&store->marked_at, 0);
  zs_reset_counts (store->pool);
}

bool
store_reset_slice (struct store *store, uint64_t *at)
{
  const uint64_t bytes = SLOTS_PER_TABLE_PAGE * ZSPAGE_PAGE_SIZE;
  uint64_t end = store->nr_table_pages, offset, left;

  *at = table_next_present (store, *at, end);
  if (*at < end) {
    offset = (*at)++ * bytes;
    left = store_disksize (store) - offset;
    store_trim (store, left < bytes ? left : bytes, offset);
  }
  if (*at < end)
    return true;
  counts_reset (store);
  return false;
}

void
store_reset (struct store *store)
{
  uint64_t at = 0;

  while (store_reset_slice (store, &at))
    ;
}
