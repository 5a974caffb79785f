/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of the programs that measure without a server.  What is wrong
 * with one ends the program with USAGE_STATUS, and what is allowed on stderr.
 */
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define USAGE_STATUS 2

/* After --help (STATUS 0), or what is wrong. */
static inline void __attribute__ ((noreturn))
usage_exit (const char *usage, int status)
{
  fputs (usage, status ? stderr : stdout);
  exit (status);
}

/* A decimal number from least to most; name is what the usage calls it. */
static inline uint64_t
usage_number (const char *name, const char *text, uint64_t least, uint64_t most)
{
  char *end;
  uint64_t n;

  errno = 0;
  n = strtoull (text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || errno || n < least || n > most)
    errx (USAGE_STATUS,
          "%s: '%s': must be a number from %" PRIu64 " to %" PRIu64, name, text,
          least, most);
  return n;
}

/* For programs without options but --help: what is left of the arguments, least
 * to most of them, with a NULL after the last.
 */
static inline char **
usage_arguments (int argc, char *argv[], int least, int most, const char *usage)
{
  static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  int c = getopt_long (argc, argv, "h", options, NULL);

  if (c != -1)
    usage_exit (usage, c == 'h' ? EXIT_SUCCESS : USAGE_STATUS);
  if (argc - optind < least || argc - optind > most)
    usage_exit (usage, USAGE_STATUS);
  return argv + optind;
}

#endif /* BENCH_USAGE_H */
