/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of nbd-load. */

#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum load_op {
  LOAD_READ,
  LOAD_WRITE,
  LOAD_MIXED, /* each request a read or a write, evenly */
  LOAD_TRIM,
  LOAD_VERIFY, /* read, and compare with the pages file */
  LOAD_FLUSH,  /* of a trace only */
  LOAD_REPLAY, /* each request as the trace has it */
  LOAD_NR_OPS,
};

struct options {
  const char *uri;
  const char *pages;  /* path, NULL when the op needs none */
  const char *replay; /* path of a trace; NULL: op is not LOAD_REPLAY */
  enum load_op op;
  bool random;
  size_t size;   /* bytes a request */
  uint64_t step; /* sequential: in slots; 1 covers the whole span */
  unsigned nr_connections;
  unsigned depth;       /* requests in flight a connection */
  uint64_t seconds_ns;  /* 0: no time limit */
  uint64_t nr_requests; /* 0: no limit, or one pass if no time limit */
  uint64_t span;        /* bytes of the device used; 0: choose */
  uint64_t seed;
  uint64_t timeout_ns; /* give up after this long without a reply */
  pid_t server_pid;    /* 0: do not measure the server */
  bool header;
  bool columns; /* only print the header */
};

/* The word for OP on the command line, in a trace and in the output. */
const char *options_op_name (enum load_op op);

/* Fill O from the command line.  Does not return on --help (exit status 0) or
 * on a bad command line (a message on stderr and exit status 2).
 */
void options_parse (struct options *o, int argc, char *argv[]);

#endif /* BENCH_OPTIONS_H */
