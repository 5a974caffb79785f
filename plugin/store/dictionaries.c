/* SPDX-License-Identifier: BSD-3-Clause */
/* The generations of a device's dictionary.
 *
 * A slot says which generation its page needs.  Pages are compressed with the
 * newest; an older one is forgotten when the last page that needs it is gone:
 *
 *   - Who compresses, loads the generation while holding a codec context (or,
 *     after it gave that back to wait for room, a pin), until the page is
 *     published.  So once another generation is current, every context was
 *     given back, and there is no pin of it, nothing publishes the old one.
 *   - From then on no slot comes to need it, so when the count of those that do
 *     is zero, it stays so.  Who reads, has the slot locked meanwhile.
 */
#include "store-internal.h"

#include <stdlib.h>

#include "saved-dictionaries.h"

/* From so few on, pages leave the one that fewest need. */
#define GENERATIONS_LEFT 3u

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

static void
recompress_end_locked (struct store *store)
{
  struct dictionary *d =
    atomic_load (&store->dictionaries[store->pass_generation]);

  if (d)
    dictionary_drop_level (d);
  count_bytes (store);
}

/* That which fewest pages need, if few are left for others. */
static unsigned
leaving_choose (struct store *store)
{
  uint64_t pages, fewest = UINT64_MAX;
  unsigned g, nr = 0, least = 0;

  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    if (dictionary_of (store, g) == NULL)
      continue;
    nr++;
    pages = dictionary_pages (store, g);
    if (g != store_generation (store) &&
        g != atomic_load (&store->kept_generation) && pages < fewest) {
      fewest = pages;
      least = g;
    }
  }
  return nr + GENERATIONS_LEFT > SLOT_GEN_MAX ? least : 0;
}

int
recompress_begin_locked (struct store *store)
{
  unsigned g = store_generation (store);
  struct dictionary *d = atomic_load (&store->dictionaries[g]);
  int r;

  if (g != store->pass_generation)
    recompress_end_locked (store);
  r = d ? dictionary_add_level (d, codec_pool_level (store->strong)) : 0;
  store->pass_generation = g;
  store->leaving_generation = leaving_choose (store);
  count_bytes (store);
  return r;
}

int
store_recompress_begin (struct store *store)
{
  int r;

  ranked_lock (&store->recompress_lock);
  r = recompress_begin_locked (store);
  ranked_unlock (&store->recompress_lock);
  return r;
}

void
store_recompress_end (struct store *store)
{
  ranked_lock (&store->recompress_lock);
  recompress_end_locked (store);
  ranked_unlock (&store->recompress_lock);
}

unsigned
generation_pin (struct store *store)
{
  unsigned g = atomic_load (&store->generation), now;

  for (;;) {
    atomic_fetch_add (&store->pins[g], 1);
    now = atomic_load (&store->generation);
    if (now == g)
      return g;
    /* It may be gone already. */
    atomic_fetch_sub (&store->pins[g], 1);
    g = now;
  }
}

void
generation_unpin (struct store *store, unsigned generation)
{
  atomic_fetch_sub (&store->pins[generation], 1);
}

static void
reap_locked (struct store *store)
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
      quiet = true;
    }
    /* Who pins it, may publish it; only the newest comes to be pinned.  Again, as
     * one may have been published until now.
     */
    if (atomic_load (&store->pins[g]) == 0 &&
        dictionary_pages (store, g) == 0) {
      saved_dictionary_forget (store, g);
      dictionary_destroy (atomic_exchange (&store->dictionaries[g], NULL));
    }
  }
  count_bytes (store);
}

void
store_dictionaries_reap (struct store *store)
{
  ranked_lock (&store->recompress_lock);
  reap_locked (store);
  ranked_unlock (&store->recompress_lock);
}

static void
generation_set_locked (struct store *store, unsigned generation)
{
  atomic_store (&store->generation, generation);
  saved_generation_set (store, generation);
  count_bytes (store);
}

void
dictionaries_reset (struct store *store)
{
  ranked_lock (&store->recompress_lock);
  generation_set_locked (store, atomic_load (&store->kept_generation));
  ranked_unlock (&store->recompress_lock);
}

/* The next generation that is free; 0: there is none. */
static unsigned
generation_next (const struct store *store)
{
  unsigned now = store_generation (store), i, g;

  for (i = 1; i <= SLOT_GEN_MAX; ++i) {
    g = (now + i - 1) % SLOT_GEN_MAX + 1;
    if (dictionary_of (store, g) == NULL)
      return g;
  }
  return 0;
}

/* The generation that has the same bytes, as after a restart; 0: none. */
static unsigned
generation_of (const struct store *store, const struct dictionary *dictionary)
{
  size_t len, other_len;
  const void *bytes = dictionary_bytes (dictionary, &len), *other_bytes;
  unsigned g;

  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    const struct dictionary *other = dictionary_of (store, g);

    if (other == NULL)
      continue;
    other_bytes = dictionary_bytes (other, &other_len);
    if (len == other_len && memcmp (bytes, other_bytes, len) == 0)
      return g;
  }
  return 0;
}

static int
add_locked (struct store *store, struct dictionary *dictionary)
{
  unsigned g = generation_of (store, dictionary);
  int r;

  recompress_end_locked (store);
  if (g > 0) {
    dictionary_destroy (dictionary);
    generation_set_locked (store, g);
    return 0;
  }
  reap_locked (store);
  g = generation_next (store);
  if (g == 0)
    return -EBUSY;
  r = saved_dictionary_put (store, g, dictionary);
  if (r < 0)
    return r;
  atomic_store (&store->dictionaries[g], dictionary);
  generation_set_locked (store, g);
  return 0;
}

int
store_dictionary_add (struct store *store, struct dictionary *dictionary)
{
  int r;

  ranked_lock (&store->recompress_lock);
  r = add_locked (store, dictionary);
  ranked_unlock (&store->recompress_lock);
  return r;
}

void
store_dictionary_keep (struct store *store)
{
  atomic_store (&store->kept_generation, store_generation (store));
}

void
store_count_learning (struct store *store, uint64_t bytes)
{
  atomic_store (&store->learning_bytes, bytes);
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

/* Move on to the nth page of the table that has memory.  False at the end. */
static bool
sampler_go (struct store *store, struct store_sampler *at, uint64_t nth)
{
  uint64_t end = store->nr_table_pages;

  if (at->nth == 0)
    at->table_page = table_next_present (store, 0, end);
  for (; at->nth < nth && at->table_page < end; at->nth++)
    at->table_page = table_next_present (store, at->table_page + 1, end);
  return at->table_page < end;
}

/* A copy of the first page from idx on, to the end of its part of the table, that
 * is compressed, and that the sample does not have.
 */
static bool
sample_from (struct store *store, struct store_sampler *at, uint64_t idx,
             void *page)
{
  uint64_t end = (table_page_of (idx) + 1) * SLOTS_PER_TABLE_PAGE;
  struct codec_ctx *ctx = codec_get (store->codec);
  bool found = false;

  if (idx < at->next)
    idx = at->next;
  for (; idx < end && !found; ++idx) {
    struct stripe *stripe = slot_lock_present (store, idx);
    uint64_t word;

    if (stripe == NULL)
      break;
    word = slot_get_locked (store, idx);
    found = (slot_kind (word) == SLOT_LZ4 || slot_kind (word) == SLOT_ZSTD) &&
            page_peek_locked (store, ctx, idx, word, page) == 0;
    slot_unlock (stripe);
  }
  codec_put (ctx);
  at->next = idx;
  return found;
}

/* In each of nr equal parts of the table somewhere, so that no period in what is
 * stored matters.
 */
bool
store_sample (struct store *store, struct store_sampler *at, uint64_t i,
              uint64_t nr, void *page)
{
  uint64_t slots =
    atomic_load_explicit (&store->nr_present, memory_order_relaxed) *
    SLOTS_PER_TABLE_PAGE;
  uint64_t part = slots / nr, slot = i * slots / nr;

  if (part > 1)
    slot += (i * UINT64_C (0x9e3779b97f4a7c15) >> 32) % part;
  return sampler_go (store, at, slot / SLOTS_PER_TABLE_PAGE) &&
         sample_from (store, at,
                      at->table_page * SLOTS_PER_TABLE_PAGE +
                        slot % SLOTS_PER_TABLE_PAGE,
                      page);
}
