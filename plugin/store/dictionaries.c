/* SPDX-License-Identifier: BSD-3-Clause */
/* The generations of a device's dictionary.
 *
 * A slot says which generation its page needs.  Pages are compressed with the
 * newest; an older one is forgotten when the last page that needs it is gone:
 *
 *   - Who compresses, loads the generation while holding a codec context (or,
 *     after it gave that back to wait for room, a pin), until the page is
 *     published.  So once another generation is current, every context was
 *     given back, and there are no pins, nothing publishes the old one.
 *   - From then on no slot comes to need it, so when the count of those that do
 *     is zero, it stays so.  Who reads, has the slot locked meanwhile.
 */
#include "store-internal.h"

#include <stdlib.h>

uint64_t
dictionary_pages (struct store *store, unsigned generation)
{
  int64_t pages = 0;
  unsigned i;

  for (i = 0; i < NR_STRIPES; ++i)
    pages += atomic_load_explicit (
      &store->stripes[i].counters.zstd_pages[generation], memory_order_acquire);
  return pages > 0 ? pages : 0;
}

static void
count_bytes (struct store *store)
{
  const struct dictionary *d;
  uint64_t bytes = 0;
  unsigned g;

  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    d = dictionary_of (store, g);
    bytes += d ? dictionary_memory (d) : 0;
  }
  atomic_store (&store->dictionary_bytes, bytes);
}

int
store_recompress_begin (struct store *store)
{
  unsigned g = store_generation (store);
  struct dictionary *d = atomic_load (&store->dictionaries[g]);
  int r = d ? dictionary_add_level (d, codec_pool_level (store->strong)) : 0;

  store->pass_generation = g;
  count_bytes (store);
  return r;
}

void
store_recompress_end (struct store *store)
{
  struct dictionary *d =
    atomic_load (&store->dictionaries[store->pass_generation]);

  if (d)
    dictionary_drop_level (d);
  count_bytes (store);
}

int
store_dictionary_add (struct store *store, struct dictionary *dictionary)
{
  unsigned now = atomic_load (&store->generation), i, g;

  store_recompress_end (store);
  store_dictionaries_reap (store);
  for (i = 1; i <= SLOT_GEN_MAX; ++i) {
    g = (now + i - 1) % SLOT_GEN_MAX + 1;
    if (dictionary_of (store, g) == NULL) {
      atomic_store (&store->dictionaries[g], dictionary);
      atomic_store (&store->generation, g);
      count_bytes (store);
      return 0;
    }
  }
  return -EBUSY;
}

void
store_dictionaries_reap (struct store *store)
{
  unsigned now = atomic_load (&store->generation), g;
  bool quiet = false;

  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    if (g == now || g == atomic_load (&store->kept_generation) ||
        dictionary_of (store, g) == NULL || dictionary_pages (store, g) > 0)
      continue;
    if (!quiet) {
      codec_quiesce (store->codec);
      if (store->dense)
        codec_quiesce (store->dense);
      if (atomic_load (&store->pins) > 0)
        return;
      quiet = true;
    }
    /* Again, as one may have been published until now. */
    if (dictionary_pages (store, g) == 0)
      dictionary_destroy (atomic_exchange (&store->dictionaries[g], NULL));
  }
  count_bytes (store);
}

void
store_dictionary_keep (struct store *store)
{
  atomic_store (&store->kept_generation, store_generation (store));
}

uint64_t
store_resets (const struct store *store)
{
  return atomic_load (&store->resets);
}

unsigned
store_generation (const struct store *store)
{
  return atomic_load (&store->generation);
}

struct dictionary *
store_dictionary (struct store *store, unsigned generation, uint64_t *pages)
{
  *pages = dictionary_pages (store, generation);
  return atomic_load (&store->dictionaries[generation]);
}

bool
store_sample (struct store *store, uint64_t at, void *page)
{
  uint64_t t = at / SLOTS_PER_TABLE_PAGE % store->nr_table_pages, first, i;
  struct codec_ctx *ctx;
  bool found = false;

  t = table_next_present (store, t, store->nr_table_pages);
  if (t == store->nr_table_pages)
    t = table_next_present (store, 0, t);
  if (t == store->nr_table_pages)
    return false;
  ctx = codec_get (store->codec);
  first = t * SLOTS_PER_TABLE_PAGE;
  for (i = 0; i < SLOTS_PER_TABLE_PAGE && !found; ++i) {
    uint64_t idx = first + (at + i) % SLOTS_PER_TABLE_PAGE, word;
    struct stripe *stripe = slot_lock_present (store, idx);

    if (stripe == NULL)
      break;
    word = slot_get_locked (store, idx);
    found = (slot_kind (word) == SLOT_LZ4 || slot_kind (word) == SLOT_ZSTD) &&
            page_peek_locked (store, ctx, idx, word, page) == 0;
    slot_unlock (stripe);
  }
  codec_put (ctx);
  return found;
}
