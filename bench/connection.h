/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection to the server, driven by one thread, which keeps a fixed
 * number of requests in flight on it.
 *
 * Everything a request needs is allocated before the load starts.  The
 * connections share only struct load: the ticket counter, which numbers the
 * requests of all of them, and the stop flag, set by the first that fails.
 */

#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"
#include "options.h"
#include "pages.h"
#include "trace.h"

struct nbd_handle;
struct request;

/* What the connections have in common.  All but the atomics is set before the
 * threads start and then only read.
 */
struct load {
  struct options options;
  struct pages pages;
  struct trace trace;   /* of --replay */
  size_t max_len;       /* bytes of the longest read or write */
  uint64_t span;        /* bytes; requests stay below it */
  uint64_t nr_slots;    /* span / size rounded up, under 2^32; of those
                         * only each options.stepth is used
                         */
  uint64_t nr_tickets;  /* stop before this ticket */
  uint64_t start_ns;    /* written before the start barrier opens */
  uint64_t deadline_ns; /* likewise; UINT64_MAX: none */

  /* Alone in its cache line: every request takes a ticket.  Both atomics are
   * relaxed; nothing else is published through them.
   */
  _Alignas(64) atomic_uint_fast64_t next_ticket;
  _Alignas(64) atomic_bool stop;
};

struct connection {
  struct load *load;
  struct nbd_handle *nbd;
  unsigned idx;
  uint64_t rng;
  struct request *requests; /* options.depth of them */
  struct request **idle;    /* a stack of those not in flight */
  unsigned nr_idle;
  uint8_t *buffers; /* for reads: options.depth * load->max_len bytes */

  /* Results, for whoever has joined the thread. */
  struct histogram latency;
  uint64_t nr_bytes; /* read and written, and trimmed by LOAD_TRIM */
  uint64_t last_reply_ns;
  char error[256]; /* empty: none */
};

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t connection_now_ns (void);

/* Connect to LOAD's server and allocate all that the load will need.  Returns
 * NULL with a message in ERROR (LEN bytes) when that fails.
 */
struct connection *connection_create (struct load *load, unsigned idx,
                                      char *error, size_t len);

/* Send requests until the load is over and every reply is in, or something
 * fails, which C->error then tells.  Leaves the connection open: the server's
 * threads for it must live until its CPU time has been read.
 */
void connection_run (struct connection *c);

/* Close and free.  NULL is allowed. */
void connection_destroy (struct connection *c);

#endif /* BENCH_CONNECTION_H */
