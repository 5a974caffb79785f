/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots: their locks, their memory, publishing them, counting them. */
#include "store-internal.h"

#include "checks.h"
#include "fault-point.h"

uint64_t
table_next_present (const struct store *store, uint64_t from, uint64_t end)
{
  while (from < end) {
    uint64_t word =
      atomic_load_explicit (&store->present[from / 64], memory_order_acquire) >>
      from % 64;

    if (word) {
      from += __builtin_ctzll (word);
      return from < end ? from : end;
    }
    from = (from / 64 + 1) * 64;
  }
  return end;
}

struct stripe *
slot_lock_present (struct store *store, uint64_t idx)
{
  struct stripe *stripe = stripe_of (store, idx);

  /* Asked for now, as a lock lets nothing after it begin before. */
  __builtin_prefetch ((const void *) &store->slots[idx]);
  if (!table_is_present (store, table_page_of (idx)))
    return NULL;
  ranked_lock (&stripe->lock);
  /* It may have gone before the lock was had, but cannot go now. */
  if (table_is_present (store, table_page_of (idx)))
    return stripe;
  ranked_unlock (&stripe->lock);
  return NULL;
}

static void
present_set (struct store *store, uint64_t table_page)
{
  atomic_fetch_or_explicit (&store->present[table_page / 64],
                            UINT64_C (1) << table_page % 64,
                            memory_order_release);
  atomic_fetch_add_explicit (&store->nr_present, 1, memory_order_relaxed);
}

int
table_populate_locked (struct store *store, uint64_t table_page)
{
  uint8_t *page = (uint8_t *) store->slots + table_page * ZSPAGE_PAGE_SIZE;
  int r;

  if (table_is_present (store, table_page))
    return 0;
  r = checks_are_kept (store) ? checks_populate_locked (store, table_page) : 0;
  if (r == 0)
    r = arena_populate (&store->arena, page, ZSPAGE_PAGE_SIZE);
  if (r < 0) {
    if (checks_are_kept (store))
      checks_release_locked (store, table_page);
    return r;
  }
  FAULT_POINT ("table: populated");
  present_set (store, table_page);
  return 0;
}

int
table_adopt_locked (struct store *store, uint64_t table_page)
{
  int r =
    checks_are_kept (store) ? checks_populate_locked (store, table_page) : 0;

  if (r == 0)
    present_set (store, table_page);
  return r;
}

static int
table_populate (struct store *store, uint64_t table_page)
{
  int r;

  ranked_lock (&store->table_lock);
  r = table_populate_locked (store, table_page);
  ranked_unlock (&store->table_lock);
  return r;
}

void
table_populate_all_locked (struct store *store)
{
  uint64_t t;

  for (t = 0; t < store->nr_table_pages; ++t)
    if (table_populate_locked (store, t) < 0)
      return;
}

void
table_release_locked (struct store *store, uint64_t table_page)
{
  if (arena_release (&store->arena,
                     (uint8_t *) store->slots + table_page * ZSPAGE_PAGE_SIZE,
                     ZSPAGE_PAGE_SIZE) < 0)
    return;
  FAULT_POINT ("table: released");
  if (checks_are_kept (store))
    checks_release_locked (store, table_page);
  atomic_fetch_and_explicit (&store->present[table_page / 64],
                             ~(UINT64_C (1) << table_page % 64),
                             memory_order_release);
  atomic_fetch_sub_explicit (&store->nr_present, 1, memory_order_relaxed);
}

int
slot_lock_for_write (struct store *store, uint64_t idx, struct stripe **stripe)
{
  for (;;) {
    *stripe = slot_lock_present (store, idx);
    if (*stripe)
      return 0;
    if (table_populate (store, table_page_of (idx)) < 0)
      return -ENOSPC;
  }
}

void
group_lock (struct stripe *group)
{
  unsigned i;

  for (i = 0; i < STRIPES_PER_GROUP; ++i)
    ranked_lock_next (&group[i].lock);
}

void
group_unlock (struct stripe *group)
{
  unsigned i;

  for (i = 0; i < STRIPES_PER_GROUP; ++i)
    ranked_unlock (&group[i].lock);
}

/* Add a word to, or with sign -1 take it from, the figures. */
static void
account_locked (struct stripe_counters *c, uint64_t word, int sign)
{
  bool is_settled = word & (SLOT_MARK_RECOMPRESSED | SLOT_MARK_INCOMPRESSIBLE);

  /* First to go and last to come; see group_is_open in recompress.c. */
  if (is_settled && sign < 0)
    count_locked (&c->settled_pages, sign);
  switch (slot_kind (word)) {
  case SLOT_EMPTY:
    return;
  case SLOT_FILL:
  case SLOT_FILL32:
  case SLOT_FILL_OBJ:
    count_locked (&c->same_pages, sign);
    break;
  case SLOT_RAW:
    count_locked (&c->huge_pages, sign);
    count_locked (&c->compr_bytes, sign * (int) ZSPAGE_PAGE_SIZE);
    if (sign > 0)
      count_locked (&c->huge_pages_since, 1);
    break;
  case SLOT_LZ4:
  case SLOT_ZSTD:
    count_locked (slot_kind (word) == SLOT_LZ4
                    ? &c->lz4_pages
                    : &c->zstd_pages[slot_generation (word)],
                  sign);
    count_locked (&c->compr_bytes, sign * (int) slot_len (word));
    break;
  case SLOT_LOST:
    count_locked (&c->lost_pages, sign);
    break;
  }
  count_locked (&c->pages, sign);
  if (word & SLOT_MARK_IDLE)
    count_locked (&c->idle_pages, sign);
  if (is_settled && sign > 0)
    count_locked (&c->settled_pages, sign);
}

/* What is usual: one page by lz4, young, in place of another such. */
static void
account_change_locked (struct stripe_counters *c, uint64_t old, uint64_t word)
{
  const uint64_t marks =
    SLOT_MARK_IDLE | SLOT_MARK_RECOMPRESSED | SLOT_MARK_INCOMPRESSIBLE;

  if (slot_kind (old) == SLOT_LZ4 && slot_kind (word) == SLOT_LZ4 &&
      !((old | word) & marks)) {
    count_locked (&c->compr_bytes,
                  (int) slot_len (word) - (int) slot_len (old));
    return;
  }
  account_locked (c, old, -1);
  account_locked (c, word, 1);
}

uint64_t
slot_publish_locked (struct store *store, struct stripe *stripe, uint64_t idx,
                     uint64_t word)
{
  uint64_t old = slot_get_locked (store, idx);

  if (checks_are_kept (store))
    checks_begin_locked (store, idx, word);
  FAULT_POINT ("slot: to be published");
  /* Pairs with nothing in this process, where the lock orders; it keeps the
   * object's bytes before the word for whoever reads the arena after a kill.
   */
  atomic_store_explicit (&store->slots[idx], word, memory_order_release);
  FAULT_POINT ("slot: published");
  if (checks_are_kept (store))
    checks_end_locked (store, idx);
  account_change_locked (&stripe->counters, old, word);
  return old;
}

void
slot_adopt_locked (struct stripe *stripe, uint64_t word)
{
  account_locked (&stripe->counters, word, 1);
}

void
slot_give_up_locked (struct store *store, struct stripe *stripe, uint64_t idx)
{
  slot_publish_locked (store, stripe, idx, SLOT_LOST);
}

void
count_failed_writes (struct store *store, uint64_t idx, uint64_t pages)
{
  struct stripe *stripe = stripe_of (store, idx);

  ranked_lock (&stripe->lock);
  count_locked (&stripe->counters.failed_writes, pages);
  ranked_unlock (&stripe->lock);
}
