/* SPDX-License-Identifier: BSD-3-Clause */
/* http-attack SOCKET CLIENTS ATTACK: attack the statistics socket until standard
 * input ends.
 */
#include <config.h>

#include <unistd.h>

#include "attackers.h"
#include "client.h"

int
main (int argc, char *argv[])
{
  struct attackers *a;
  char c;

  if (argc != 4)
    DIE ("usage: http-attack SOCKET CLIENTS ATTACK");
  a =
    attackers_start (argv[1], attack_by_name (argv[3]), parse_number (argv[2]));
  while (read (0, &c, 1) > 0)
    ;
  attackers_stop (a);
  return 0;
}
