/* SPDX-License-Identifier: BSD-3-Clause */
/* See checks.h. */
#include "checks.h"

#include "codec.h"
#include "fault-point.h"

/* What a move and a mark leave alone. */
#define MARKS                                                                  \
  ((UINT64_C (1) << SLOT_LEN_SHIFT) - (UINT64_C (1) << SLOT_MARK_SHIFT))
#define PLACE (SLOT_REF_MAX << SLOT_REF_SHIFT)

static uint64_t
check_of (uint64_t idx, uint64_t word, const void *data)
{
  uint64_t of[3] = {idx, word & ~MARKS, 0};

  if (word == 0)
    return 0;
  if (slot_has_object (word)) {
    of[1] &= ~PLACE;
    of[2] = codec_hash (data, slot_len (word));
  }
  return codec_hash (of, sizeof of);
}

static uint8_t *
page_of (const struct store *store, uint64_t table_page)
{
  return (uint8_t *) store->checks +
         table_page * CHECK_PAGES * ZSPAGE_PAGE_SIZE;
}

/* The last part may be less than whole. */
static size_t
bytes_of (const struct store *store, uint64_t table_page)
{
  uint64_t pages =
    (store->nr_pages * sizeof (struct zspage_check) + ZSPAGE_PAGE_MASK) /
    ZSPAGE_PAGE_SIZE;
  uint64_t left = pages - table_page * CHECK_PAGES;

  return (left < CHECK_PAGES ? left : CHECK_PAGES) * ZSPAGE_PAGE_SIZE;
}

int
checks_populate_locked (struct store *store, uint64_t table_page)
{
  return arena_populate (&store->arena, page_of (store, table_page),
                         bytes_of (store, table_page));
}

int
checks_release_locked (struct store *store, uint64_t table_page)
{
  return arena_release (&store->arena, page_of (store, table_page),
                        bytes_of (store, table_page));
}

void
checks_release_run (struct store *store, uint64_t first, uint64_t end)
{
  const uint8_t *from = page_of (store, first);
  const uint8_t *last = page_of (store, end - 1) + bytes_of (store, end - 1);
  void *start;
  size_t len;

  while (arena_next_memory (&store->arena, from, last, &start, &len)) {
    arena_release (&store->arena, start, len);
    from = (uint8_t *) start + len;
  }
}

/* Each store is seen, or not, by who comes after a kill. */
static void
set (uint64_t *check, uint64_t value)
{
  __atomic_store_n (check, value, __ATOMIC_RELEASE);
}

void
checks_begin_locked (struct store *store, uint64_t idx, uint64_t word)
{
  struct zspage_check *check = &store->checks[idx];
  uint64_t now = check_of (
    idx, word,
    slot_has_object (word) ? zs_map (store->pool, slot_ref (word)) : NULL);

  set (&check->before, check->now);
  FAULT_POINT ("checks: before is set");
  set (&check->now, now);
  FAULT_POINT ("checks: now is set");
}

void
checks_end_locked (struct store *store, uint64_t idx)
{
  set (&store->checks[idx].before, store->checks[idx].now);
}

bool
checks_are_right_locked (const struct store *store, uint64_t idx, uint64_t word,
                         const void *data)
{
  return check_of (idx, word, data) == store->checks[idx].now;
}

/* Take up that of the two which is right. */
static bool
settle (struct zspage_check *check, uint64_t right)
{
  if (check->now != right && check->before != right)
    return false;
  set (&check->now, right);
  set (&check->before, right);
  return true;
}

bool
checks_recover_locked (struct store *store, uint64_t idx, uint64_t word)
{
  struct zspage_check *check = &store->checks[idx];
  const void *data = NULL;

  if (slot_kind (word) == SLOT_LOST)
    return true;
  if (slot_has_object (word)) {
    /* When it is read will do, unless it is in doubt which of the two it is. */
    if (check->now == check->before)
      return true;
    data = zs_map (store->pool, slot_ref (word));
  }
  return settle (check, check_of (idx, word, data));
}

void
checks_forget_locked (struct store *store, uint64_t idx)
{
  set (&store->checks[idx].now, 0);
  set (&store->checks[idx].before, 0);
}
