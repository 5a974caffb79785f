/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing: the page is encoded and its object placed and completed first, then
 * its slot word is published, then the old object is freed.  So on any error,
 * and if the process is killed at any instant, the old page is still there.
 */
#include "store-internal.h"

#include "fault-point.h"

/* So many pages are written with one codec context, before others get it; with
 * helpers, at most CREW_PIECES.
 */
#define RUN_PAGES 32u

/* With so many pages, it pays to wake others up to help. */
#define LARGE_PAGES 16u

/* What a page is to be stored as: a word alone, or data for an object. */
struct image {
  uint64_t word; /* if not 0, all of it */
  enum slot_kind kind;
  unsigned generation; /* of the dictionary; 0 = none */
  const void *data;
  size_t len;
  uint64_t value; /* room for the data of SLOT_FILL_OBJ */
};

/* Encode a page, if by zstd with the dictionary of a generation.  image->data
 * belongs to ctx, or is the page or the image.
 */
static void
page_encode_with (struct store *store, struct codec_ctx *ctx,
                  unsigned generation, const void *page, struct image *image)
{
  bool is_zstd = codec_ctx_id (ctx) == CODEC_ZSTD;

  if (!is_zstd)
    generation = 0;
  image->word = 0;
  image->generation = 0;
  if (codec_same_filled (page, &image->value)) {
    image->word = slot_make_fill (image->value);
    image->kind = SLOT_FILL_OBJ;
    image->data = &image->value;
    image->len = sizeof image->value;
    return;
  }
  image->len = codec_compress (ctx, dictionary_of (store, generation), page,
                               zs_max_payload (store->pool), &image->data);
  image->kind = is_zstd ? SLOT_ZSTD : SLOT_LZ4;
  image->generation = generation;
  if (image->len == 0) {
    image->kind = SLOT_RAW;
    image->generation = 0;
    image->data = page;
    image->len = ZSPAGE_PAGE_SIZE;
  }
}

static void
page_encode (struct store *store, struct codec_ctx *ctx, const void *page,
             struct image *image)
{
  page_encode_with (
    store, ctx, atomic_load_explicit (&store->generation, memory_order_acquire),
    page, image);
}

/* The word of an image that has an object, wherever that is. */
static uint64_t
image_word (const struct image *image, zs_ref ref)
{
  return slot_with_generation (slot_make_object (image->kind, ref, image->len),
                               image->generation);
}

/* When making room was of no use: what is kept for recompressing, or an object
 * that is too large, or the reserve.
 */
static int
malloc_last (struct store *store, size_t len, uint64_t idx, zs_ref *ref)
{
  int r = zs_malloc_kept (store->pool, len, idx, ref);

  if (r < 0 && zs_malloc_below (store->pool, len, SIZE_MAX, idx, ref) == 0)
    return 0;
  if (r == -ENOMEM || r == -ENOBUFS)
    r = zs_malloc_reserve (store->pool, len, idx, ref);
  return r;
}

/* Make the image's object and its word.  is_last: by all means.  Errors as of
 * zs_malloc.
 */
static int
image_place (struct store *store, uint64_t idx, const struct image *image,
             bool is_last, uint64_t *word)
{
  zs_ref ref;
  uint8_t tag;
  int r;

  if (image->word) {
    *word = image->word;
    return 0;
  }
  r = is_last ? malloc_last (store, image->len, idx, &ref)
              : zs_malloc (store->pool, image->len, idx, &ref);
  if (r < 0)
    return r;
  zs_prefetch_object (store->pool, ref, image->len + ZSPAGE_OBJECT_HEADER);
  FAULT_POINT ("write: object taken");
  tag = codec_checksum (image->data, image->len);
  memcpy (zs_map (store->pool, ref), image->data, image->len);
  FAULT_POINT ("write: data copied");
  zs_set_tag (store->pool, ref, tag);
  *word = image_word (image, ref);
  return 0;
}

/* Make the smallest of it that there is; kept has room for a page.  The image is
 * pinned, before and after.
 */
static void
image_shrink (struct store *store, const void *page, void *kept,
              struct image *image)
{
  uint8_t out[ZSPAGE_PAGE_SIZE];
  unsigned generation;
  size_t len = recompress_encode (store, page, out, &generation);

  if (len == 0)
    return;
  if (len >= image->len) {
    generation_unpin (store, generation);
    return;
  }
  generation_unpin (store, image->generation);
  image->kind = SLOT_ZSTD;
  image->generation = generation;
  image->data = memcpy (kept, out, len);
  image->len = len;
}

/* image_place, after it failed with an error: making room, again and again.
 * What is written again, to a device that is full, must not need more than what
 * recompression had made of it.
 */
static int
image_place_with_room (struct store *store, uint64_t idx, const void *page,
                       void *kept, struct image *image, int err,
                       struct room *room, uint64_t *word)
{
  while (room_make (store, err, room)) {
    room_begin (store, room);
    err = image_place (store, idx, image, false, word);
    if (err == 0)
      return 0;
  }
  image_shrink (store, page, kept, image);
  return image_place (store, idx, image, true, word);
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
    return room_overwrite_locked (store, stripe, idx, image_word (image, 0),
                                  image->data, image->len);
  *old = slot_publish_locked (store, stripe, idx, word);
  return 0;
}

/* Have what freeing the old object needs at hand when the new one is compressed.
 * With the slot locked, as looking at a hole of the table would give it memory,
 * and as the object's chunk could become one of another kind.
 */
static void
prefetch_old (struct store *store, uint64_t idx)
{
  struct stripe *stripe = slot_lock_present (store, idx);
  uint64_t word;

  if (stripe == NULL)
    return;
  word = slot_get_locked (store, idx);
  if (slot_has_object (word))
    zs_prefetch_free (store->pool, slot_ref (word));
  slot_unlock (stripe);
}

/* Store an image, in place of what the page was.  kept has room for a page.  ctx
 * is given back, and *ctx NULL, if it took long; NULL: there is a pin instead.
 */
static int
image_store (struct store *store, struct codec_ctx **ctx, uint64_t idx,
             const void *page, struct image *image, void *kept)
{
  struct stripe *stripe;
  struct room room = {0};
  uint64_t word = 0, old = 0;
  bool pinned = false;
  int placed, r;

  room_begin (store, &room);
  placed = image_place (store, idx, image, false, &word);
  if (placed < 0) {
    /* As ctx keeps it, or the pin of a large write. */
    atomic_fetch_add (&store->pins[image->generation], 1);
    pinned = true;
    if (ctx) {
      /* This may take a while, in which others need the context. */
      image->data = memcpy (kept, image->data, image->len);
      codec_put (*ctx);
      *ctx = NULL;
    }
    placed = image_place_with_room (store, idx, page, kept, image, placed,
                                    &room, &word);
  }
  r = slot_lock_for_write (store, idx, &stripe);
  if (r == 0) {
    r = image_commit_locked (store, stripe, idx, image, placed, word, &old);
    slot_unlock (stripe);
  }
  else if (placed == 0)
    old = word;
  if (pinned)
    generation_unpin (store, image->generation);
  FAULT_POINT ("write: old object to be freed");
  object_free (store, idx, old);
  return r;
}

static struct codec_ctx *
ctx_for_writing (struct store *store)
{
  return codec_get (
    atomic_load_explicit (&store->writes_with, memory_order_acquire));
}

/* Write a page with *ctx, for which NULL is a new one. */
static int
page_write (struct store *store, struct codec_ctx **ctx, uint64_t idx,
            const void *page)
{
  uint8_t kept[ZSPAGE_PAGE_SIZE];
  struct image image;

  if (*ctx == NULL)
    *ctx = ctx_for_writing (store);
  prefetch_old (store, idx);
  page_encode (store, *ctx, page, &image);
  return image_store (store, ctx, idx, page, &image, kept);
}

/* Write nr whole pages, one after the other; *done: so many of them are. */
static int
run_write (struct store *store, uint64_t idx, const uint8_t *pages, size_t nr,
           size_t *done)
{
  struct codec_ctx *ctx = NULL;
  int r = 0;

  for (*done = 0; *done < nr; ++*done) {
    r = page_write (store, &ctx, idx + *done, pages + *done * ZSPAGE_PAGE_SIZE);
    if (r < 0)
      break;
  }
  if (ctx)
    codec_put (ctx);
  return r;
}

/* What the crew encodes. */
struct large {
  struct store *store;
  const uint8_t *pages;
  unsigned generation; /* which is pinned */
  struct image images[CREW_PIECES];
  uint8_t data[CREW_PIECES][ZSPAGE_PAGE_SIZE];
};

size_t
store_crew_bytes (void)
{
  return sizeof (struct large);
}

static void
large_encode (void *opaque, unsigned i)
{
  struct large *l = opaque;
  struct codec_ctx *ctx = ctx_for_writing (l->store);
  const uint8_t *page = l->pages + i * ZSPAGE_PAGE_SIZE;
  struct image *image = &l->images[i];

  page_encode_with (l->store, ctx, l->generation, page, image);
  if (image->word == 0 && image->data != page)
    image->data = memcpy (l->data[i], image->data, image->len);
  codec_put (ctx);
}

/* As run_write, with pages encoded by several threads, but stored in order by
 * this one, so that those before one that fails are new, and no others.  *done is
 * 0 if the crew has no time.
 */
static int
large_write (struct store *store, uint64_t idx, const uint8_t *pages, size_t nr,
             size_t *done)
{
  struct large *l;
  struct codec_ctx *ctx = NULL;
  unsigned i, generation;
  int r = 0;

  *done = 0;
  if (!crew_acquire (store->crew))
    return 0;
  l = crew_scratch (store->crew);
  l->store = store;
  l->pages = pages;
  /* Until all that helpers encoded is published, or never will be. */
  l->generation = generation = generation_pin (store);
  crew_begin (store->crew, nr, large_encode, l);
  while (r == 0 && crew_take (store->crew, &i)) {
    r = page_write (store, &ctx, idx + i, pages + i * ZSPAGE_PAGE_SIZE);
    *done += r == 0;
  }
  /* Helpers need contexts to come to an end. */
  if (ctx)
    codec_put (ctx);
  crew_wait (store->crew);
  while (r == 0 && *done < nr) {
    prefetch_old (store, idx + *done);
    r = image_store (store, NULL, idx + *done, pages + *done * ZSPAGE_PAGE_SIZE,
                     &l->images[*done], l->data[*done]);
    *done += r == 0;
  }
  crew_release (store->crew);
  generation_unpin (store, generation);
  return r;
}

/* Write the first of len bytes of whole pages; *done: so many pages are. */
static int
some_write (struct store *store, uint64_t idx, const uint8_t *pages, size_t len,
            size_t *done)
{
  size_t nr = len >> ZSPAGE_PAGE_SHIFT;
  int r;

  if (nr >= LARGE_PAGES) {
    r = large_write (store, idx, pages, nr < CREW_PIECES ? nr : CREW_PIECES,
                     done);
    if (r < 0 || *done > 0)
      return r;
  }
  return run_write (store, idx, pages, nr < RUN_PAGES ? nr : RUN_PAGES, done);
}

/* A page to be changed in part. */
struct part {
  uint64_t idx;
  const void *data; /* NULL: zeros */
  size_t within, len;
};

/* Read, change and publish it, with its slot locked; or, if there is no room
 * and this is not the last attempt, say so in *no_room, an error of zs_malloc,
 * and change nothing.
 */
static int
part_change_locked (struct store *store, struct stripe *stripe,
                    struct codec_ctx *ctx, const struct part *part,
                    bool is_last, int *no_room, uint64_t *old)
{
  uint8_t page[ZSPAGE_PAGE_SIZE];
  struct image image;
  uint64_t word = 0;
  int placed, r = page_read_locked (store, stripe, ctx, part->idx, page);

  if (r < 0)
    return r;
  if (part->data)
    memcpy (page + part->within, part->data, part->len);
  else
    memset (page + part->within, 0, part->len);
  page_encode (store, ctx, page, &image);
  /* Zeros that were not written are nothing. */
  if (part->data == NULL && image.word == slot_make_fill (0)) {
    *old = slot_publish_locked (store, stripe, part->idx, 0);
    return 0;
  }
  placed = image_place (store, part->idx, &image, is_last, &word);
  if (placed < 0 && !is_last) {
    *no_room = placed;
    return 0;
  }
  return image_commit_locked (store, stripe, part->idx, &image, placed, word,
                              old);
}

static int
part_try (struct store *store, const struct part *part, bool is_last,
          int *no_room)
{
  struct codec_ctx *ctx = ctx_for_writing (store);
  struct stripe *stripe;
  uint64_t old = 0;
  int r = slot_lock_for_write (store, part->idx, &stripe);

  *no_room = 0;
  if (r == 0) {
    r = part_change_locked (store, stripe, ctx, part, is_last, no_room, &old);
    slot_unlock (stripe);
  }
  codec_put (ctx);
  object_free (store, part->idx, old);
  return r;
}

int
page_write_part (struct store *store, uint64_t idx, const void *data,
                 size_t within, size_t len)
{
  const struct part part = {idx, data, within, len};
  struct room room = {0};
  int no_room, r;

  do {
    room_begin (store, &room);
    r = part_try (store, &part, false, &no_room);
    if (no_room == 0)
      return r;
  } while (room_make (store, no_room, &room));
  return part_try (store, &part, true, &no_room);
}

int
store_write (struct store *store, const void *buf, size_t len, uint64_t offset)
{
  const uint8_t *p = buf;
  uint64_t end = (offset + len + ZSPAGE_PAGE_MASK) >> ZSPAGE_PAGE_SHIFT;
  uint64_t idx = offset >> ZSPAGE_PAGE_SHIFT;
  int r;

  if (!range_is_valid (store, len, offset))
    return -EINVAL;
  if (len == 0)
    return 0;
  r = store_start (store);
  while (r == 0 && len > 0) {
    size_t within = offset & ZSPAGE_PAGE_MASK, n, done;

    if (within == 0 && len >= ZSPAGE_PAGE_SIZE) {
      r = some_write (store, idx, p, len, &done);
      idx += done;
      n = done << ZSPAGE_PAGE_SHIFT;
    }
    else {
      n = ZSPAGE_PAGE_SIZE - within;
      if (n > len)
        n = len;
      r = page_write_part (store, idx, p, within, n);
      idx += r == 0;
    }
    p += n;
    len -= n;
    offset += n;
  }
  if (r < 0)
    count_failed_writes (store, idx, end - idx);
  return r;
}
