/* SPDX-License-Identifier: BSD-3-Clause */
/* test-idle OPERATION URI: how long it takes to do things to all of a device
 * that holds nothing, in requests of 4 GiB less a page, the most that NBD has.
 *
 *   trim, zero, extents    all of the device
 *   reads                  100,000 reads of 4 KiB, at random
 */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "client.h"

#define MOST         (4 * GIB - PAGE)

#define NR_READS     100000
#define NR_IN_FLIGHT 16

static struct nbd_handle *nbd;
static uint64_t size;

/* How far the extents of one answer reach. */
static int
on_extents (void *opaque, const char *context, uint64_t offset,
            uint32_t *entries, size_t nr_entries, int *error)
{
  uint64_t *end = opaque;
  size_t i;

  (void) context;
  (void) error;
  *end = offset;
  for (i = 0; i < nr_entries; i += 2) {
    *end += entries[i];
    ASSERT_INT (entries[i + 1], ==, LIBNBD_STATE_HOLE | LIBNBD_STATE_ZERO);
  }
  return 0;
}

/* One request from offset on; returns where the next one begins. */
static uint64_t
one_request (const char *operation, uint64_t offset, uint64_t len)
{
  uint64_t end = offset + len;
  nbd_extent_callback cb = {.callback = on_extents, .user_data = &end};

  if (strcmp (operation, "trim") == 0)
    NBD (nbd_trim (nbd, len, offset, 0));
  else if (strcmp (operation, "zero") == 0)
    NBD (nbd_zero (nbd, len, offset, LIBNBD_CMD_FLAG_FAST_ZERO));
  else if (strcmp (operation, "extents") == 0)
    NBD (nbd_block_status (nbd, len, offset, cb, 0));
  else
    DIE ("%s: unknown operation", operation);
  return end;
}

static void
over_everything (const char *operation)
{
  uint64_t offset = 0, nr = 0, start = now_ns (), before, took, worst = 0;

  while (offset < size) {
    before = now_ns ();
    offset = one_request (operation, offset,
                          size - offset < MOST ? size - offset : MOST);
    took = now_ns () - before;
    worst = took > worst ? took : worst;
    nr++;
  }
  printf ("%s of %" PRIu64 " GiB in %" PRIu64 " requests: %.3f ms each, "
          "%.3f ms at most\n",
          operation, size / GIB, nr, (now_ns () - start) / 1e6 / nr,
          worst / 1e6);
}

static void
random_reads (void)
{
  static uint8_t bufs[NR_IN_FLIGHT][PAGE];
  static const uint8_t zeros[PAGE];
  uint64_t rng = 1, start = now_ns ();
  int64_t cookies[NR_IN_FLIGHT];
  unsigned i, issued = 0;

  while (issued < NR_READS) {
    for (i = 0; i < NR_IN_FLIGHT; ++i, ++issued) {
      memset (bufs[i], 0x55, PAGE);
      cookies[i] =
        nbd_aio_pread (nbd, bufs[i], PAGE, rng_below (&rng, size / PAGE) * PAGE,
                       NBD_NULL_COMPLETION, 0);
      NBD (cookies[i]);
    }
    for (i = 0; i < NR_IN_FLIGHT; ++i) {
      int r;

      while ((r = nbd_aio_command_completed (nbd, cookies[i])) == 0)
        NBD (nbd_poll (nbd, -1));
      NBD (r);
      data_compare (bufs[i], zeros, PAGE, 0, "a page never written");
    }
  }
  printf ("%u reads of 4 KiB at random: %.1f us each, %u in flight\n", issued,
          (now_ns () - start) / 1e3 / issued, NR_IN_FLIGHT);
}

int
main (int argc, char *argv[])
{
  if (argc != 3)
    DIE ("usage: test-idle trim|zero|extents|reads URI");
  nbd = client_connect (argv[2]);
  size = nbd_get_size (nbd);
  if (strcmp (argv[1], "reads") == 0)
    random_reads ();
  else
    over_everything (argv[1]);
  client_close (nbd);
  return 0;
}
