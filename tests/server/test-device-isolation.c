/* SPDX-License-Identifier: BSD-3-Clause */
/* test-device-isolation SEED URI URI: write, trim and read on two devices at
 * random.  What is read is what was last written to that page of that device,
 * and zeros where nothing is: never what was written to the other, or before.
 */
#include <config.h>

#include <string.h>

#include "client.h"

#define NR_PAGES 512u
#define NR_OPS   6000u

static struct nbd_handle *nbd[2];

/* What each page holds; a seed of 0 is nothing. */
static struct data pages[2][NR_PAGES];
static uint64_t last_seed;

static void
expected (unsigned device, unsigned idx, uint8_t *page)
{
  const struct data *data = &pages[device][idx];

  if (data->seed == 0)
    memset (page, 0, PAGE);
  else
    data_make (data, page, idx * PAGE, PAGE);
}

static void
check (unsigned device, unsigned idx)
{
  uint8_t got[PAGE], want[PAGE];

  memset (got, 0xcd, PAGE);
  NBD (nbd_pread (nbd[device], got, PAGE, idx * PAGE, 0));
  expected (device, idx, want);
  data_compare (got, want, PAGE, idx * PAGE, device ? "device b" : "device a");
}

static void
write_page (unsigned device, unsigned idx, enum data_kind kind)
{
  uint8_t page[PAGE];

  /* Never a byte that is zero, nor one of the other device. */
  pages[device][idx] = (struct data){kind, 2 * ++last_seed + device};
  if (kind == DATA_FILL)
    pages[device][idx].seed = 1 + 2 * (last_seed % 100) + device;
  expected (device, idx, page);
  NBD (nbd_pwrite (nbd[device], page, PAGE, idx * PAGE, 0));
}

static void
trim (unsigned device, unsigned first, unsigned n)
{
  memset (&pages[device][first], 0, n * sizeof pages[device][0]);
  NBD (nbd_trim (nbd[device], n * PAGE, first * PAGE, 0));
}

/* Part of a page that holds nothing: the rest must be zeros. */
static void
write_part (unsigned device, unsigned idx)
{
  uint8_t got[PAGE], want[PAGE] = {0};

  trim (device, idx, 1);
  memset (want + 1000, 0x5a, 100);
  NBD (nbd_pwrite (nbd[device], want + 1000, 100, idx * PAGE + 1000, 0));
  NBD (nbd_pread (nbd[device], got, PAGE, idx * PAGE, 0));
  data_compare (got, want, PAGE, idx * PAGE, "part of a page");
  trim (device, idx, 1);
}

static void
check_all (void)
{
  unsigned device, idx;

  for (device = 0; device < 2; ++device)
    for (idx = 0; idx < NR_PAGES; ++idx)
      check (device, idx);
}

/* All of one device, gone, and then all of the other in the same memory. */
static void
reuse (unsigned device, enum data_kind kind)
{
  unsigned idx;

  for (idx = 0; idx < NR_PAGES; ++idx)
    write_page (device, idx, kind);
  trim (device, 0, NR_PAGES);
  for (idx = 0; idx < NR_PAGES; ++idx)
    write_page (!device, idx, kind);
  check_all ();
  trim (!device, 0, NR_PAGES);
}

int
main (int argc, char *argv[])
{
  uint64_t rng;
  unsigned i;

  if (argc != 4)
    DIE ("usage: test-device-isolation SEED URI URI");
  rng = parse_number (argv[1]);
  nbd[0] = client_connect (argv[2]);
  nbd[1] = client_connect (argv[3]);

  for (i = 0; i < 2 * DATA_KINDS; ++i)
    reuse (i % 2, i / 2);
  for (i = 0; i < NR_OPS; ++i) {
    unsigned device = rng_below (&rng, 2), idx = rng_below (&rng, NR_PAGES);

    switch (rng_below (&rng, 8)) {
    case 0:
      trim (device, idx, rng_below (&rng, NR_PAGES - idx) / 4 + 1);
      break;
    case 1:
      write_part (device, idx);
      break;
    case 2:
    case 3:
      check (device, idx);
      break;
    default:
      write_page (device, idx, rng_below (&rng, DATA_KINDS));
    }
  }
  check_all ();
  client_close (nbd[0]);
  client_close (nbd[1]);
  return 0;
}
