/* SPDX-License-Identifier: BSD-3-Clause */
/* nbd-hold URI N: open N connections, say `ready', and keep them open until
 * standard input ends.  Fails if one is refused.
 */
#include <config.h>

#include <unistd.h>

#include "client.h"

int
main (int argc, char *argv[])
{
  struct nbd_handle **nbd;
  uint64_t i, nr;
  char c;

  if (argc != 3)
    DIE ("usage: nbd-hold URI N");
  nr = parse_number (argv[2]);
  nbd = xcalloc (nr * sizeof *nbd);
  for (i = 0; i < nr; ++i)
    nbd[i] = client_connect (argv[1]);
  puts ("ready");
  fflush (stdout);
  while (read (0, &c, 1) > 0)
    ;
  for (i = 0; i < nr; ++i)
    client_close (nbd[i]);
  free (nbd);
  return 0;
}
