/* SPDX-License-Identifier: BSD-3-Clause */
/* Proof that the slot table and the allocator say the same. */
#include "store-internal.h"

struct tally {
  struct store *store;
  uint64_t objects, strays;
};

/* An object in the allocator: its owner must refer to it. */
static void
tally_object (void *opaque, zs_ref ref, uint32_t owner)
{
  struct tally *tally = opaque;
  uint64_t word;

  tally->objects++;
  if (owner >= tally->store->nr_pages ||
      !table_is_present (tally->store, table_page_of (owner))) {
    tally->strays++;
    return;
  }
  word = slot_get_locked (tally->store, owner);
  if (!slot_has_object (word) || slot_ref (word) != ref)
    tally->strays++;
}

/* Each slot's object must be there, and the figures must add up. */
static const char *
check_slots (struct store *store, uint64_t objects)
{
  uint64_t idx, table_page, pages = 0, with_object = 0, compr = 0, lz4 = 0,
                            settled = 0, zstd[SLOT_GEN_MAX + 1] = {0};
  struct store_stats stats;
  unsigned g;

  for (table_page = 0; table_page < store->nr_table_pages; ++table_page) {
    if (!table_is_present (store, table_page))
      continue;
    for (idx = table_page * SLOTS_PER_TABLE_PAGE;
         idx < (table_page + 1) * SLOTS_PER_TABLE_PAGE; ++idx) {
      uint64_t word = slot_get_locked (store, idx);

      if (word == 0)
        continue;
      if (idx >= store->nr_pages)
        return "a slot beyond the device is in use";
      pages++;
      lz4 += slot_kind (word) == SLOT_LZ4;
      if (slot_kind (word) == SLOT_ZSTD)
        zstd[slot_generation (word)]++;
      settled +=
        (word & (SLOT_MARK_RECOMPRESSED | SLOT_MARK_INCOMPRESSIBLE)) != 0;
      if (word & SLOT_MARK_IN_WORK)
        return "a page is being recompressed";
      if (!slot_has_object (word))
        continue;
      with_object++;
      if (slot_kind (word) != SLOT_FILL_OBJ)
        compr += slot_len (word);
      if (!zs_ref_is_plausible (store->pool, slot_ref (word), slot_len (word),
                                idx))
        return "a slot refers to what is not its object";
      if (slot_generation (word) &&
          dictionary_of (store, slot_generation (word)) == NULL)
        return "a slot needs a dictionary that is gone";
      if (zs_capacity (store->pool, slot_ref (word)) < slot_len (word))
        return "an object is longer than its class allows";
    }
  }
  if (with_object != objects)
    return "slots with objects and allocated objects differ in number";
  store_stats (store, &stats);
  if (stats.orig_data_size != pages * ZSPAGE_PAGE_SIZE)
    return "orig_data_size is wrong";
  if (stats.compr_data_size != compr)
    return "compr_data_size is wrong";
  if (stats.lz4_pages != lz4 || stats.settled_pages != settled)
    return "lz4_pages or settled_pages is wrong";
  for (g = 0; g <= SLOT_GEN_MAX; ++g)
    if (dictionary_pages (store, g) != zstd[g])
      return "a count of the pages that need a dictionary is wrong";
  return NULL;
}

int
store_validate (struct store *store, const char **why)
{
  struct tally tally = {.store = store};
  int r = zs_validate (store->pool, why);

  if (r < 0)
    return r;
  zs_for_each_object (store->pool, tally_object, &tally);
  *why = tally.strays ? "an object's owner does not refer to it"
                      : check_slots (store, tally.objects);
  return *why ? -EUCLEAN : 0;
}
