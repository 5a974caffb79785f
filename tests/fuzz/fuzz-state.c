/* SPDX-License-Identifier: BSD-3-Clause */
/* A state file with changes that bytes tell, recovered, read and written.
 *
 *   byte 0     whether it has checks (bit 0)
 *   then       changes: one byte what, two bytes where, then what it needs
 *     0..5     exclusive or of a byte (1): of the header, the slot table, the
 *              checks, the records, the dictionaries, the data
 *     6        a slot's word: that of another slot (2)
 *     7        the same, its reference alone
 *     8        a slot's word (8)
 *     9        a page of zeros
 *     10       a page without memory
 *     11       the header gets a good checksum
 *
 * Places count in what of the part was ever used, again and again.
 */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dictionary-pages.h"
#include "fuzz.h"
#include "layout.h"
#include "store-fixture.h"
#include "store-internal.h"
#include "zspool-internal.h"

#define NR_PAGES (512 + 60)
#define NR_PARTS 6

/* A file that was not closed, as the pages of it that have memory. */
struct image {
  struct zspage_header header;
  size_t nr;
  uint64_t *offsets; /* [nr] */
  uint8_t (*pages)[PAGE];
  size_t first[NR_PARTS + 1]; /* page of each part */
};

static struct codec_pool *codec, *strong;
static uint8_t pages[NR_PAGES][PAGE];

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond)) {                                                             \
      fprintf (stderr, "fuzz-state: %s\n", #cond);                             \
      abort ();                                                                \
    }                                                                          \
  } while (0)

static struct store *
store_open (int fd, const struct zspage_header *h, bool is_new)
{
  struct state_file file = {fd, is_new, *h};
  const struct store_config config = {.name = "fuzz",
                                      .disksize = h->disksize,
                                      .chain_size = h->chain_size,
                                      .codec = codec,
                                      .strong = strong,
                                      .ops = &arena_libc_ops,
                                      .file = &file};
  struct store *store;

  MUST (store_create (&config, &store) == 0);
  return store;
}

static void
store_fill (struct store *store)
{
  struct store_recompress how = {.which = 0};
  struct rng rng = {1};
  uint64_t i, at = 0;
  unsigned n = NR_PAGES;

  MUST (store_dictionary_add (
          store, dictionary_of_records (0, store_dictionary_level (store))) ==
        0);
  for (i = 0; i < 40; ++i) {
    page_of_records (&rng, 0, pages[i]);
    MUST (store_write (store, pages[i], PAGE, i * PAGE) == 0);
  }
  MUST (store_recompress_begin (store) == 0);
  store_recompress_slice (store, &how, &at, &n);
  store_recompress_end (store);
  for (; i < NR_PAGES; ++i)
    if (i < 90 || i >= NR_PAGES - 20) {
      page_make (i % PAGE_KINDS, &rng, pages[i]);
      MUST (store_write (store, pages[i], PAGE, i * PAGE) == 0);
    }
}

static void
image_read (struct image *image, int fd)
{
  const struct zspage_header *h = &image->header;
  const uint64_t ends[NR_PARTS] = {
    h->table_offset,   h->checks_offset ? h->checks_offset : h->records_offset,
    h->records_offset, h->dictionaries_offset,
    h->data_offset,    h->file_bytes};
  off_t at = 0, hole;
  unsigned part = 0;

  while ((at = lseek (fd, at, SEEK_DATA)) != -1) {
    for (hole = lseek (fd, at, SEEK_HOLE); at < hole; at += PAGE) {
      while ((uint64_t) at >= ends[part])
        image->first[++part] = image->nr;
      image->nr++;
      image->offsets =
        realloc (image->offsets, image->nr * sizeof *image->offsets);
      image->pages = realloc (image->pages, image->nr * sizeof *image->pages);
      MUST (image->offsets && image->pages);
      image->offsets[image->nr - 1] = at;
      MUST (pread (fd, image->pages[image->nr - 1], PAGE, at) == PAGE);
    }
  }
  while (part < NR_PARTS)
    image->first[++part] = image->nr;
}

static void
image_make (struct image *image, bool has_checks)
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC), again = dup (fd);
  struct store *store;

  MUST (again >= 0);
  MUST (layout_init (&image->header, (uint64_t) NR_PAGES * PAGE, 8,
                     has_checks) == 0);
  MUST (ftruncate (fd, image->header.file_bytes) == 0);
  MUST (pwrite (fd, &image->header, sizeof image->header, 0) ==
        sizeof image->header);
  store = store_open (fd, &image->header, true);
  store_fill (store);
  image_read (image, again);
  store_destroy (store);
  close (again);
}

static int
image_file (const struct image *image)
{
  int fd = memfd_create ("fuzz", MFD_CLOEXEC);
  size_t i;

  MUST (fd >= 0 && ftruncate (fd, image->header.file_bytes) == 0);
  for (i = 0; i < image->nr; ++i)
    MUST (pwrite (fd, image->pages[i], PAGE, image->offsets[i]) == PAGE);
  return fd;
}

struct input {
  const uint8_t *p, *end;
};

static uint64_t
bytes (struct input *in, unsigned n)
{
  uint64_t value = 0;
  unsigned i;

  for (i = 0; i < n; ++i)
    value |= (uint64_t) (in->p < in->end ? *in->p++ : 0) << 8 * i;
  return value;
}

/* Where a byte of a part is: where * 7 of its pages' bytes, so that two bytes
 * reach most of it.
 */
static uint64_t
place (const struct image *image, unsigned part, uint64_t where)
{
  size_t first = image->first[part], nr = image->first[part + 1] - first;

  if (part == 0)
    return where % sizeof (struct zspage_header);
  if (nr == 0)
    return image->header.table_offset;
  where = where * 7 % (nr * PAGE);
  return image->offsets[first + where / PAGE] + where % PAGE;
}

static uint64_t
slot_offset (const struct image *image, uint64_t idx)
{
  return image->header.table_offset + idx % NR_PAGES * sizeof (uint64_t);
}

static void
checksum_set (int fd)
{
  struct zspage_header h;

  MUST (pread (fd, &h, sizeof h, 0) == sizeof h);
  h.checksum = codec_hash (&h, offsetof (struct zspage_header, checksum));
  MUST (pwrite (fd, &h, sizeof h, 0) == sizeof h);
}

static void
change (const struct image *image, int fd, struct input *in)
{
  static const uint8_t zeros[PAGE];
  unsigned what = bytes (in, 1) % 12;
  uint64_t where = bytes (in, 2), at = 0, word = 0, other = 0;
  uint8_t byte;

  switch (what) {
  case 6:
  case 7:
    MUST (pread (fd, &word, 8, slot_offset (image, where)) == 8);
    MUST (pread (fd, &other, 8, slot_offset (image, bytes (in, 2))) == 8);
    word = what == 7 ? slot_with_ref (word, slot_ref (other)) : other;
    at = slot_offset (image, where);
    MUST (pwrite (fd, &word, sizeof word, at) == sizeof word);
    break;
  case 8:
    word = bytes (in, 8);
    at = slot_offset (image, where);
    MUST (pwrite (fd, &word, sizeof word, at) == sizeof word);
    break;
  case 9:
    at = image->offsets[where % image->nr];
    MUST (pwrite (fd, zeros, PAGE, at) == PAGE);
    break;
  case 10:
    at = image->offsets[where % image->nr];
    MUST (fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
                     PAGE) == 0);
    break;
  case 11:
    checksum_set (fd);
    break;
  default:
    at = place (image, what, where);
    MUST (pread (fd, &byte, 1, at) == 1);
    byte ^= bytes (in, 1);
    MUST (pwrite (fd, &byte, 1, at) == 1);
  }
}

static void
use (struct store *store)
{
  const char *why;
  uint8_t page[PAGE];
  uint64_t i, nr = store_disksize (store) / PAGE;
  int r;

  /* With a header that somebody made up it may be another device. */
  nr = nr < NR_PAGES ? nr : NR_PAGES;
  MUST (zs_validate (store->pool, &why) == 0);
  for (i = 0; i < nr; ++i) {
    r = store_read (store, page, PAGE, i * PAGE);
    MUST (r == 0 || r == -EIO);
  }
  for (i = 0; i < nr; ++i)
    MUST (store_write (store, pages[i], PAGE, i * PAGE) == 0);
  store_compact (store);
  for (i = 0; i < nr; ++i) {
    MUST (store_read (store, page, PAGE, i * PAGE) == 0);
    MUST (memcmp (page, pages[i], PAGE) == 0);
  }
  MUST (zs_validate (store->pool, &why) == 0);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static struct image images[2];
  struct input in = {data, data + size};
  struct image *image = &images[bytes (&in, 1) % 2];
  char why[LAYOUT_WHY] = "";
  struct zspage_header h;
  struct store *store;
  unsigned i;
  int fd;

  if (codec == NULL) {
    MUST (codec_pool_create (CODEC_LZ4, 1, 1, &codec) == 0);
    MUST (codec_pool_create (CODEC_ZSTD, 1, 1, &strong) == 0);
    for (i = 0; i < 2; ++i)
      image_make (&images[i], i);
  }
  fd = image_file (image);
  while (in.p < in.end)
    change (image, fd, &in);
  MUST (pread (fd, &h, sizeof h, 0) == sizeof h);
  if (layout_check (&h, image->header.file_bytes, why) < 0) {
    MUST (why[0] != 0);
    close (fd);
    return 0;
  }
  store = store_open (fd, &h, false);
  use (store);
  store_destroy (store);
  return 0;
}
