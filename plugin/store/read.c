/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading: slot word -> object -> page, straight into the caller's buffer. */
#include "store-internal.h"

#include "checks.h"

/* Decompress or copy the object of a word. */
static int
object_read_locked (struct store *store, struct codec_ctx *ctx, uint64_t idx,
                    uint64_t word, void *page)
{
  zs_ref ref = slot_ref (word);
  uint32_t len = slot_len (word);
  const struct dictionary *dictionary;
  const void *data;
  uint64_t value;

  zs_prefetch_object (store->pool, ref, len + ZSPAGE_OBJECT_HEADER);
  if (!zs_ref_is_plausible (store->pool, ref, len, idx))
    return -EIO;
  data = zs_map (store->pool, ref);
  if (codec_checksum (data, len) != zs_tag (store->pool, ref) ||
      (checks_are_kept (store) &&
       !checks_are_right_locked (store, idx, word, data)))
    return -EIO;
  switch (slot_kind (word)) {
  case SLOT_FILL_OBJ:
    if (len != sizeof value)
      return -EIO;
    memcpy (&value, data, sizeof value);
    codec_fill (page, value);
    return 0;
  case SLOT_RAW:
    memcpy (page, data, ZSPAGE_PAGE_SIZE);
    return 0;
  case SLOT_LZ4:
    return codec_decompress (NULL, CODEC_LZ4, NULL, data, len, page);
  case SLOT_ZSTD:
    dictionary = dictionary_of (store, slot_generation (word));
    if (slot_generation (word) && dictionary == NULL)
      return -EIO;
    return codec_decompress (ctx, CODEC_ZSTD, dictionary, data, len, page);
  default:
    return -EIO;
  }
}

int
page_peek_locked (struct store *store, struct codec_ctx *ctx, uint64_t idx,
                  uint64_t word, void *page)
{
  if (checks_are_kept (store) && !slot_has_object (word) &&
      !checks_are_right_locked (store, idx, word, NULL))
    return -EIO;
  switch (slot_kind (word)) {
  case SLOT_EMPTY:
    memset (page, 0, ZSPAGE_PAGE_SIZE);
    return 0;
  case SLOT_FILL:
  case SLOT_FILL32:
    codec_fill (page, slot_fill_value (word));
    return 0;
  default:
    return object_read_locked (store, ctx, idx, word, page);
  }
}

int
page_read_locked (struct store *store, struct stripe *stripe,
                  struct codec_ctx *ctx, uint64_t idx, void *page)
{
  uint64_t word = slot_get_locked (store, idx);
  int r = page_peek_locked (store, ctx, idx, word, page);

  if (r < 0)
    count_locked (&stripe->counters.failed_reads, 1);
  if (word & (SLOT_MARK_IDLE | SLOT_MARK_OLD)) {
    slot_repoint_locked (store, idx, word & ~(SLOT_MARK_IDLE | SLOT_MARK_OLD));
    if (word & SLOT_MARK_IDLE)
      count_locked (&stripe->counters.idle_pages, -1);
  }
  return r;
}

/* One page, of which the caller wants [within, within+len). */
static int
page_read (struct store *store, uint64_t idx, void *buf, size_t within,
           size_t len)
{
  uint8_t whole[ZSPAGE_PAGE_SIZE];
  void *page = len == ZSPAGE_PAGE_SIZE ? buf : whole;
  struct codec_ctx *ctx = NULL;
  struct stripe *stripe;
  int r = 0;

  if (!table_is_present (store, table_page_of (idx))) {
    memset (buf, 0, len);
    return 0;
  }
  if (store->reads_need_ctx)
    ctx = codec_get (store->codec);
  stripe = slot_lock_present (store, idx);
  /* Recompressed, by what the store's own codec is not. */
  if (stripe && ctx == NULL &&
      slot_kind (slot_get_locked (store, idx)) == SLOT_ZSTD) {
    slot_unlock (stripe);
    ctx = codec_get (store->codec);
    stripe = slot_lock_present (store, idx);
  }
  if (stripe) {
    r = page_read_locked (store, stripe, ctx, idx, page);
    slot_unlock (stripe);
  }
  else
    memset (page, 0, ZSPAGE_PAGE_SIZE);
  if (ctx)
    codec_put (ctx);
  if (page == whole && r == 0)
    memcpy (buf, whole + within, len);
  return r;
}

int
store_read (struct store *store, void *buf, size_t len, uint64_t offset)
{
  uint8_t *p = buf;

  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  while (len > 0) {
    size_t within = offset & ZSPAGE_PAGE_MASK;
    size_t n = ZSPAGE_PAGE_SIZE - within;
    int r;

    if (n > len)
      n = len;
    r = page_read (store, offset >> ZSPAGE_PAGE_SHIFT, p, within, n);
    if (r < 0)
      return r;
    p += n;
    len -= n;
    offset += n;
  }
  return 0;
}
