/* SPDX-License-Identifier: BSD-3-Clause */
/* test-extents URI SEED NR_ROUNDS: what block status says, against a copy of
 * the device.  A page is a hole that reads as zeros exactly if all its bytes
 * are zero, however that came about; all others are data.
 */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "client.h"

#define HOLE_ZERO (LIBNBD_STATE_HOLE | LIBNBD_STATE_ZERO)

static struct nbd_handle *nbd;
static uint8_t *shadow;
static uint64_t size;
static uint64_t rng;

/* What the server says, for one request. */
struct answer {
  uint64_t offset; /* of the next extent */
  unsigned nr;
  uint32_t last_flags;
  uint64_t limit; /* the end of what was asked for */
};

static bool
page_is_zero (uint64_t idx)
{
  static const uint8_t zeros[PAGE];

  return memcmp (shadow + idx * PAGE, zeros, PAGE) == 0;
}

static void
check_extent (struct answer *a, uint64_t len, uint32_t flags)
{
  uint64_t at, end = a->offset + len;

  ASSERT_INT (len, >, 0);
  if (flags != 0 && flags != HOLE_ZERO)
    DIE ("flags %u at offset %" PRIu64, flags, a->offset);
  if (a->nr > 0 && flags == a->last_flags)
    DIE ("two extents of flags %u meet at %" PRIu64, flags, a->offset);
  /* Only the last may be about more than was asked for, and then truly. */
  if (end > size)
    DIE ("an extent ends at %" PRIu64 ", beyond the device", end);

  for (at = a->offset; at < end; at = (at / PAGE + 1) * PAGE)
    if (page_is_zero (at / PAGE) != (flags == HOLE_ZERO))
      DIE ("offset %" PRIu64 " is said to be %s, which it is not", at,
           flags ? "a hole" : "data");
  a->offset = end;
  a->last_flags = flags;
  a->nr++;
}

static int
on_extents (void *opaque, const char *context, uint64_t offset,
            uint32_t *entries, size_t nr_entries, int *error)
{
  struct answer *a = opaque;
  size_t i;

  (void) error;
  if (strcmp (context, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0)
    return 0;
  ASSERT_INT (offset, ==, a->offset);
  for (i = 0; i < nr_entries; i += 2)
    check_extent (a, entries[i], entries[i + 1]);
  return 0;
}

/* Ask about a range until all of it was told. */
static void
check_range (uint64_t offset, uint64_t len, bool only_one)
{
  struct answer a = {.offset = offset, .limit = offset + len};
  nbd_extent_callback cb = {.callback = on_extents, .user_data = &a};
  uint32_t flags = only_one ? LIBNBD_CMD_FLAG_REQ_ONE : 0;
  uint64_t before;

  while (a.offset < a.limit) {
    before = a.offset;
    a.nr = 0;
    NBD (nbd_block_status (nbd, a.limit - a.offset, a.offset, cb, flags));
    if (a.offset == before)
      DIE ("no extents at %" PRIu64, before);
    if (only_one)
      ASSERT_INT (a.nr, ==, 1);
    /* All that is alike is told as one, so the next one differs. */
    if (a.offset < a.limit &&
        page_is_zero (a.offset / PAGE) == (a.last_flags == HOLE_ZERO))
      DIE ("the extent that ends at %" PRIu64 " should go on", a.offset);
  }
}

static void
do_write (uint64_t offset, uint64_t len)
{
  uint64_t kind = rng_below (&rng, 8);
  struct data data = {
    .kind = kind < 2   ? DATA_RANDOM
            : kind < 5 ? DATA_TEXT
                       : DATA_FILL,
    .seed = kind == 5 ? 1 + rng_below (&rng, 255) : 0,
  };

  data_make (&data, shadow + offset, offset, len);
  NBD (nbd_pwrite (nbd, shadow + offset, len, offset, 0));
}

static void
do_zero (uint64_t offset, uint64_t len)
{
  uint32_t flags = 0;

  if (rng_below (&rng, 2))
    flags |= LIBNBD_CMD_FLAG_FAST_ZERO;
  if (rng_below (&rng, 2))
    flags |= LIBNBD_CMD_FLAG_NO_HOLE;
  NBD (nbd_zero (nbd, len, offset, flags));
  memset (shadow + offset, 0, len);
}

static void
do_trim (uint64_t offset, uint64_t len)
{
  uint64_t first = (offset + PAGE - 1) / PAGE, end = (offset + len) / PAGE;

  NBD (nbd_trim (nbd, len, offset, 0));
  if (first < end)
    memset (shadow + first * PAGE, 0, (end - first) * PAGE);
}

/* Ranges of a few bytes, a few pages, or many slot table pages (2 MiB). */
static void
pick_range (uint64_t *offset, uint64_t *len)
{
  static const uint64_t most[] = {PAGE, 16 * PAGE, 4 * MIB, 30 * MIB};

  *len = 1 + rng_below (&rng, most[rng_below (&rng, 4)]);
  if (rng_below (&rng, 2))
    *len = (*len + PAGE - 1) / PAGE * PAGE;
  if (*len > size)
    *len = size;
  *offset = rng_below (&rng, size - *len + 1);
  if (rng_below (&rng, 2))
    *offset -= *offset % PAGE;
}

int
main (int argc, char *argv[])
{
  uint64_t seed, rounds, i, offset, len;

  if (argc != 4)
    DIE ("usage: test-extents URI SEED NR_ROUNDS");
  rng = seed = parse_number (argv[2]);
  rounds = parse_number (argv[3]);
  nbd = client_connect (argv[1]);
  size = nbd_get_size (nbd);
  shadow = xcalloc (size);
  printf ("seed %" PRIu64 ", %" PRIu64 " rounds\n", seed, rounds);
  fflush (stdout);

  check_range (0, size, false);
  for (i = 0; i < rounds; ++i) {
    pick_range (&offset, &len);
    switch (rng_below (&rng, 8)) {
    case 0:
    case 1:
    case 2:
    case 3:
      do_write (offset, len < MIB ? len : MIB);
      break;
    case 4:
    case 5:
      do_zero (offset, len);
      break;
    default:
      do_trim (offset, len);
    }
    pick_range (&offset, &len);
    check_range (offset, len, false);
    check_range (offset, len < MIB ? len : MIB, true);
    if (i % 64 == 0)
      check_range (0, size, false);
  }
  check_range (0, size, false);
  client_close (nbd);
  free (shadow);
  return 0;
}
