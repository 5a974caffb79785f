/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing: the page is encoded and its object placed and completed first, then
 * its slot word is published, then the old object is freed.  So on any error,
 * and if the process is killed at any instant, the old page is still there.
 */
#include "store-internal.h"

/* What a page is to be stored as: a word alone, or data for an object. */
struct image {
  uint64_t word; /* if not 0, all of it */
  enum slot_kind kind;
  const void *data;
  size_t len;
  uint64_t value; /* room for the data of SLOT_FILL_OBJ */
};

/* Encode a page.  image->data belongs to ctx, or is the page or the image. */
static void
page_encode (struct store *store, struct codec_ctx *ctx, const void *page,
             struct image *image)
{
  image->word = 0;
  if (codec_same_filled (page, &image->value)) {
    image->word = slot_make_fill (image->value);
    image->kind = SLOT_FILL_OBJ;
    image->data = &image->value;
    image->len = sizeof image->value;
    return;
  }
  image->len =
    codec_compress (ctx, page, zs_max_payload (store->pool), &image->data);
  image->kind =
    codec_pool_id (store->codec) == CODEC_ZSTD ? SLOT_ZSTD : SLOT_LZ4;
  if (image->len == 0) {
    image->kind = SLOT_RAW;
    image->data = page;
    image->len = ZSPAGE_PAGE_SIZE;
  }
}

/* Make the image's object and its word.  -ENOSPC: there is no room. */
static int
image_place (struct store *store, uint64_t idx, const struct image *image,
             uint64_t *word)
{
  size_t compacted;
  zs_ref ref;
  int r;

  if (image->word) {
    *word = image->word;
    return 0;
  }
  do {
    compacted = zs_compacted_pages (store->pool);
    r = zs_malloc (store->pool, image->len, idx, &ref);
  } while (r < 0 && room_make (store, r, compacted));
  if (r < 0)
    return -ENOSPC;
  memcpy (zs_map (store->pool, ref), image->data, image->len);
  *word = slot_make_object (image->kind, ref, image->len);
  return 0;
}

/* Publish what image_place made; if it failed, try to overwrite the object
 * that is there.  Returns what is left of its error.
 */
static int
image_commit_locked (struct store *store, struct stripe *stripe, uint64_t idx,
                     const struct image *image, int placed, uint64_t word,
                     uint64_t *old)
{
  *old = 0;
  if (placed < 0)
    return room_overwrite_locked (store, stripe, idx, image->kind, image->data,
                                  image->len);
  *old = slot_publish_locked (store, stripe, idx, word);
  return 0;
}

static int
page_write (struct store *store, uint64_t idx, const void *page)
{
  struct codec_ctx *ctx = codec_get (store->codec);
  struct stripe *stripe;
  struct image image;
  uint64_t word = 0, old = 0;
  int placed, r;

  page_encode (store, ctx, page, &image);
  placed = image_place (store, idx, &image, &word);
  r = slot_lock_for_write (store, idx, &stripe);
  if (r == 0) {
    r = image_commit_locked (store, stripe, idx, &image, placed, word, &old);
    slot_unlock (stripe);
  }
  else if (placed == 0)
    old = word;
  codec_put (ctx);
  object_free (store, idx, old);
  return r;
}

int
page_write_part (struct store *store, uint64_t idx, const void *data,
                 size_t within, size_t len)
{
  uint8_t page[ZSPAGE_PAGE_SIZE];
  struct codec_ctx *ctx = codec_get (store->codec);
  struct stripe *stripe;
  struct image image;
  uint64_t word = 0, old = 0;
  int placed, r;

  r = slot_lock_for_write (store, idx, &stripe);
  if (r < 0)
    goto out;
  r = page_read_locked (store, stripe, ctx, idx, page);
  if (r == 0) {
    if (data)
      memcpy (page + within, data, len);
    else
      memset (page + within, 0, len);
    page_encode (store, ctx, page, &image);
    placed = image_place (store, idx, &image, &word);
    r = image_commit_locked (store, stripe, idx, &image, placed, word, &old);
  }
  slot_unlock (stripe);
  object_free (store, idx, old);
out:
  codec_put (ctx);
  return r;
}

int
store_write (struct store *store, const void *buf, size_t len, uint64_t offset)
{
  const uint8_t *p = buf;
  uint64_t idx, end = (offset + len + ZSPAGE_PAGE_MASK) >> ZSPAGE_PAGE_SHIFT;
  int r;

  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  if (len == 0)
    return 0;
  r = store_start (store);
  for (idx = offset >> ZSPAGE_PAGE_SHIFT; r == 0 && idx < end; ++idx) {
    size_t within = offset & ZSPAGE_PAGE_MASK;
    size_t n = ZSPAGE_PAGE_SIZE - within;

    if (n > len)
      n = len;
    if (n == ZSPAGE_PAGE_SIZE)
      r = page_write (store, idx, p);
    else
      r = page_write_part (store, idx, p, within, n);
    if (r < 0)
      break;
    p += n;
    len -= n;
    offset += n;
  }
  if (r < 0)
    count_failed_writes (store, idx, end - idx);
  return r;
}
