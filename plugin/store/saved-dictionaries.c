/* SPDX-License-Identifier: BSD-3-Clause */
/* See saved-dictionaries.h. */
#include "saved-dictionaries.h"

#include "fault-point.h"

static uint8_t *
place_of (const struct store *store, unsigned generation)
{
  return store->arena.base + store->header.dictionaries_offset +
         (generation - 1) * (size_t) ZSPAGE_DICTIONARY_PLACE;
}

static size_t
place_bytes (size_t len)
{
  return ZSPAGE_PAGE_SIZE + zspage_align_up (len, ZSPAGE_PAGE_SIZE);
}

int
saved_dictionary_put (struct store *store, unsigned generation,
                      const struct dictionary *dictionary)
{
  struct zspage_saved_dictionary saved;
  uint8_t *place = place_of (store, generation);
  size_t len;
  const void *bytes = dictionary_bytes (dictionary, &len);
  int r;

  if (!store->is_saved)
    return 0;
  saved = (struct zspage_saved_dictionary){codec_hash (bytes, len), len};
  r = arena_populate (&store->arena, place, place_bytes (len));
  if (r < 0) {
    arena_release (&store->arena, place, ZSPAGE_DICTIONARY_PLACE);
    return r;
  }
  memcpy (place + ZSPAGE_PAGE_SIZE, bytes, len);
  FAULT_POINT ("dictionary: bytes are saved");
  memcpy (place, &saved, sizeof saved);
  FAULT_POINT ("dictionary: is saved");
  return 0;
}

void
saved_dictionary_forget (struct store *store, unsigned generation)
{
  if (store->is_saved)
    arena_release (&store->arena, place_of (store, generation),
                   ZSPAGE_DICTIONARY_PLACE);
  FAULT_POINT ("dictionary: is forgotten");
}

void
saved_generation_set (struct store *store, unsigned generation)
{
  struct zspage_header *header = (void *) store->arena.base;

  if (store->is_saved)
    __atomic_store_n (&header->generation, generation, __ATOMIC_RELEASE);
}

/* Of a place, what is behind so many bytes. */
static void
release_behind (struct store *store, unsigned generation, size_t bytes)
{
  if (bytes < ZSPAGE_DICTIONARY_PLACE)
    arena_release (&store->arena, place_of (store, generation) + bytes,
                   ZSPAGE_DICTIONARY_PLACE - bytes);
}

/* -EIO: there is none, or it is damaged. */
static int
load (struct store *store, unsigned generation)
{
  const uint8_t *place = place_of (store, generation), *bytes;
  struct zspage_saved_dictionary saved;
  struct dictionary *dictionary;
  const char *why;
  int r;

  if (!arena_has_memory (&store->arena, place, ZSPAGE_PAGE_SIZE))
    return -EIO;
  memcpy (&saved, place, sizeof saved);
  bytes = place + ZSPAGE_PAGE_SIZE;
  if (saved.len == 0 || saved.len > ZSPAGE_DICTIONARY_BYTES ||
      !arena_has_memory (&store->arena, bytes,
                         zspage_align_up (saved.len, ZSPAGE_PAGE_SIZE)) ||
      codec_hash (bytes, saved.len) != saved.checksum)
    return -EIO;
  r = dictionary_create (bytes, saved.len, store_dictionary_level (store),
                         &dictionary, &why);
  /* They are what was saved, so there is no memory; not to be given up. */
  if (r < 0)
    return -ENOMEM;
  atomic_store (&store->dictionaries[generation], dictionary);
  release_behind (store, generation, place_bytes (saved.len));
  return 0;
}

int
saved_dictionaries_load (struct store *store)
{
  const struct zspage_header *header = (const void *) store->arena.base;
  unsigned g, now = header->generation;
  uint8_t *end = place_of (store, SLOT_GEN_MAX + 1);
  uint8_t *data = store->arena.base + store->header.data_offset;
  int r;

  if (end < data)
    arena_release (&store->arena, end, data - end);
  for (g = 1; g <= SLOT_GEN_MAX; ++g) {
    r = load (store, g);
    if (r == -ENOMEM)
      return r;
    if (r < 0)
      release_behind (store, g, 0);
  }
  /* lz4 has no use for one. */
  if (now > 0 && now <= SLOT_GEN_MAX && dictionary_of (store, now) &&
      (store->strong || codec_pool_id (store->codec) == CODEC_ZSTD))
    atomic_store (&store->generation, now);
  else
    saved_generation_set (store, 0);
  return 0;
}
