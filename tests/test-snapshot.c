/* SPDX-License-Identifier: BSD-3-Clause */
/* test-snapshot DEVICE-URI STATISTIC-URI: a statistic stays as it was when it
 * was opened, while the device is written; opened again, it has changed.
 */
#include <config.h>

#include <string.h>

#include "client.h"

static char *
get_text (struct nbd_handle *nbd)
{
  int64_t size = nbd_get_size (nbd);
  char *text;

  ASSERT_INT (size, >, 0);
  text = xcalloc (size + 1);
  NBD (nbd_pread (nbd, text, size, 0, 0));
  ASSERT_INT (strlen (text), ==, size);
  return text;
}

int
main (int argc, char *argv[])
{
  const struct data data = {DATA_TEXT, 1};
  struct nbd_handle *device, *statistic, *again;
  uint8_t buf[64 * KIB];
  char *before, *after;
  uint64_t offset;

  if (argc != 3)
    DIE ("usage: test-snapshot DEVICE-URI STATISTIC-URI");
  device = client_connect (argv[1]);
  statistic = client_connect (argv[2]);
  before = get_text (statistic);

  for (offset = 0; offset < 16 * MIB; offset += sizeof buf) {
    data_make (&data, buf, offset, sizeof buf);
    NBD (nbd_pwrite (device, buf, sizeof buf, offset, 0));
  }
  after = get_text (statistic);
  if (strcmp (before, after) != 0)
    DIE ("'%s' became '%s'", before, after);
  free (after);

  again = client_connect (argv[2]);
  after = get_text (again);
  if (strcmp (before, after) == 0)
    DIE ("'%s' should have changed", before);

  client_close (again);
  client_close (statistic);
  client_close (device);
  free (before);
  free (after);
  return 0;
}
