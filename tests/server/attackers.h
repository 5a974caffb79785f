/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of the statistics socket that mean no good, in a thread of their
 * own.
 */
#ifndef ATTACKERS_H
#define ATTACKERS_H

enum attack {
  ATTACK_STALL,   /* connect and say nothing */
  ATTACK_DRIBBLE, /* a good request, one byte a second */
  ATTACK_GARBAGE, /* random bytes, as many as are taken */
  ATTACK_HEADERS, /* a header that does not end, as much as is taken */
  ATTACK_BIG,     /* ask for the biggest answer, and do not read it */
  ATTACK_DEAF,    /* ask for compaction again and again, and do not read */
  ATTACKS,
};

/* Ends the program if there is no attack of that name. */
enum attack attack_by_name (const char *name);

struct attackers;

/* Start nr of them.  Each whose connection is closed comes again after a
 * moment.
 */
struct attackers *attackers_start (const char *socket_path, enum attack attack,
                                   unsigned nr);

/* They send no more and do not come again, but leave open what is open. */
void attackers_quiet (struct attackers *a);

/* How many connections the server has not closed. */
unsigned attackers_open (struct attackers *a);

/* How often the server closed one. */
unsigned long attackers_closed (struct attackers *a);

void attackers_stop (struct attackers *a);

#endif /* ATTACKERS_H */
