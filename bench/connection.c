/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection with a fixed number of requests in flight; see connection.h.
 *
 * libnbd calls on_reply with its handle locked, so the callback may not issue
 * the next request: it puts the request back on the idle stack and the loop in
 * connection_run issues from there.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libnbd.h>

#include "connection.h"
#include "random.h"

/* How often a silent server is compared with --timeout. */
#define POLL_MS 250

struct request {
  struct connection *connection;
  enum load_op op; /* never LOAD_MIXED or LOAD_REPLAY */
  uint64_t offset;
  size_t len;
  uint64_t issued_ns;
  uint8_t *buffer; /* load->max_len bytes, NULL when nothing is read */
};

uint64_t
connection_now_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

/* Keep the first error, which is the cause of those after it. */
static void __attribute__ ((format (printf, 2, 3)))
fail (struct connection *c, const char *fmt, ...)
{
  va_list ap;

  atomic_store_explicit (&c->load->stop, true, memory_order_relaxed);
  if (c->error[0] != '\0')
    return;
  va_start (ap, fmt);
  vsnprintf (c->error, sizeof c->error, fmt, ap);
  va_end (ap);
}

static void
fail_request (struct connection *c, const struct request *rq, int err)
{
  if (err == ENOTCONN)
    fail (c, "the server closed the connection with %u requests in flight",
          c->load->options.depth - c->nr_idle);
  else if (err == ESHUTDOWN)
    fail (c, "the server is shutting down");
  else
    fail (c, "%s of %zu bytes at offset %" PRIu64 ": %s",
          options_op_name (rq->op), rq->len, rq->offset, strerror (err));
}

static void
check_data (struct connection *c, const struct request *rq)
{
  const uint8_t *want = pages_at (&c->load->pages, rq->offset);
  size_t i = 0;

  if (memcmp (rq->buffer, want, rq->len) == 0)
    return;
  while (rq->buffer[i] == want[i])
    i++;
  fail (c, "wrong data at offset %" PRIu64 ": 0x%02x instead of 0x%02x",
        rq->offset + i, rq->buffer[i], want[i]);
}

static int
on_reply (void *user_data, int *error)
{
  struct request *rq = user_data;
  struct connection *c = rq->connection;
  uint64_t now = connection_now_ns ();

  if (*error != 0)
    fail_request (c, rq, *error);
  else {
    histogram_add (&c->latency, now - rq->issued_ns);
    /* One trim of a trace may be of the whole device: that is no data. */
    if (rq->op != LOAD_TRIM || c->load->options.op == LOAD_TRIM)
      c->nr_bytes += rq->len;
    c->last_reply_ns = now;
    if (rq->op == LOAD_VERIFY)
      check_data (c, rq);
  }
  c->idle[c->nr_idle++] = rq;
  return 1;
}

/* Decide what request number TICKET is. */
static void
prepare (struct connection *c, struct request *rq, uint64_t ticket)
{
  const struct load *load = c->load;
  const struct options *o = &load->options;
  uint64_t random = 0, slot;

  if (o->op == LOAD_REPLAY) {
    const struct trace_request *t =
      &load->trace.requests[ticket % load->trace.nr];

    rq->op = t->op;
    rq->offset = t->offset;
    rq->len = t->len;
    return;
  }
  slot = ticket % ((load->nr_slots - 1) / o->step + 1) * o->step;
  if (o->random || o->op == LOAD_MIXED)
    random = random_next (&c->rng);
  if (o->random)
    slot = ((random >> 32) * load->nr_slots) >> 32;
  rq->op = o->op;
  if (o->op == LOAD_MIXED)
    rq->op = random & 1 ? LOAD_WRITE : LOAD_READ;
  rq->offset = slot * o->size;
  rq->len = o->size;
  if (rq->len > load->span - rq->offset)
    rq->len = load->span - rq->offset;
}

static int64_t
issue (struct connection *c, struct request *rq)
{
  nbd_completion_callback done = {.callback = on_reply, .user_data = rq};

  rq->issued_ns = connection_now_ns ();
  switch (rq->op) {
  case LOAD_READ:
  case LOAD_VERIFY:
    return nbd_aio_pread (c->nbd, rq->buffer, rq->len, rq->offset, done, 0);
  case LOAD_WRITE:
    return nbd_aio_pwrite (c->nbd, pages_at (&c->load->pages, rq->offset),
                           rq->len, rq->offset, done, 0);
  case LOAD_TRIM:
    return nbd_aio_trim (c->nbd, rq->len, rq->offset, done, 0);
  case LOAD_FLUSH:
    return nbd_aio_flush (c->nbd, done, 0);
  case LOAD_MIXED:
  case LOAD_REPLAY:
  case LOAD_NR_OPS:
    break;
  }
  abort ();
}

/* Whether a replay should wait: fewer than this were in flight when the next
 * request was recorded.  Only one connection replays, so the next is its own.
 */
static bool
is_too_early (struct connection *c)
{
  const struct load *load = c->load;
  unsigned nr_in_flight = load->options.depth - c->nr_idle;
  uint64_t ticket =
    atomic_load_explicit (&load->next_ticket, memory_order_relaxed);

  return load->options.op == LOAD_REPLAY &&
         nr_in_flight >=
           load->trace.requests[ticket % load->trace.nr].in_flight;
}

/* Issue one request unless the load is over. */
static bool
issue_next (struct connection *c)
{
  struct load *load = c->load;
  struct request *rq;
  uint64_t ticket;

  if (c->nr_idle == 0 || is_too_early (c) ||
      atomic_load_explicit (&load->stop, memory_order_relaxed) ||
      (load->deadline_ns != UINT64_MAX &&
       connection_now_ns () >= load->deadline_ns))
    return false;
  ticket =
    atomic_fetch_add_explicit (&load->next_ticket, 1, memory_order_relaxed);
  if (ticket >= load->nr_tickets)
    return false;

  /* Off the stack first: libnbd may complete it before it returns. */
  rq = c->idle[--c->nr_idle];
  prepare (c, rq, ticket);
  if (issue (c, rq) == -1) {
    fail (c, "%s", nbd_get_error ());
    return false;
  }
  return true;
}

/* Wait until at least one reply is in; false when none will come. */
static bool
wait_for_replies (struct connection *c)
{
  uint64_t silent_since = connection_now_ns ();
  unsigned nr_idle = c->nr_idle;

  while (c->nr_idle == nr_idle) {
    uint64_t silent_ns;

    if (nbd_poll (c->nbd, POLL_MS) == -1) {
      fail (c, "%s", nbd_get_error ());
      return false;
    }
    silent_ns = connection_now_ns () - silent_since;
    if (c->nr_idle == nr_idle && silent_ns >= c->load->options.timeout_ns) {
      fail (c, "no reply for %.0f s with %u requests in flight",
            (double) silent_ns / 1e9, c->load->options.depth - nr_idle);
      return false;
    }
  }
  return true;
}

/* After an error too, take in the replies that are still coming: nbdkit 1.32
 * can abort when a client goes away in the middle of them.
 */
void
connection_run (struct connection *c)
{
  do {
    while (issue_next (c))
      continue;
  } while (c->nr_idle < c->load->options.depth && wait_for_replies (c));
}

/* A failed read or write is clearer when told before the load than as EPERM
 * in the middle of it.
 */
static int
check_server (struct connection *c, char *error, size_t len)
{
  enum load_op op = c->load->options.op;
  const bool *has = c->load->trace.has;
  bool trims = op == LOAD_TRIM || has[LOAD_TRIM];

  if ((op == LOAD_WRITE || op == LOAD_MIXED || has[LOAD_WRITE] || trims) &&
      nbd_is_read_only (c->nbd) == 1) {
    snprintf (error, len, "the server is read-only: %s is impossible",
              options_op_name (op));
    return -1;
  }
  if (trims && nbd_can_trim (c->nbd) != 1) {
    snprintf (error, len, "the server does not offer trim");
    return -1;
  }
  if (has[LOAD_FLUSH] && nbd_can_flush (c->nbd) != 1) {
    snprintf (error, len, "the server does not offer flush");
    return -1;
  }
  if (c->idx > 0 && nbd_can_multi_conn (c->nbd) != 1) {
    snprintf (error, len,
              "the server does not offer multi-conn: only one "
              "connection is safe");
    return -1;
  }
  return 0;
}

static int
open_handle (struct connection *c, char *error, size_t len)
{
  c->nbd = nbd_create ();
  if (c->nbd == NULL ||
      /* No server is to blame for the time that clearing buffers takes. */
      nbd_set_pread_initialize (c->nbd, false) == -1 ||
      nbd_connect_uri (c->nbd, c->load->options.uri) == -1) {
    snprintf (error, len, "%s: %s", c->load->options.uri, nbd_get_error ());
    return -1;
  }
  return check_server (c, error, len);
}

static int
allocate (struct connection *c)
{
  const struct options *o = &c->load->options;
  size_t max_len = c->load->max_len;
  bool reads = o->op != LOAD_WRITE && o->op != LOAD_TRIM && max_len > 0;

  c->requests = calloc (o->depth, sizeof *c->requests);
  c->idle = calloc (o->depth, sizeof *c->idle);
  if (c->requests == NULL || c->idle == NULL)
    return -ENOMEM;
  if (reads) {
    c->buffers = malloc (o->depth * max_len);
    if (c->buffers == NULL)
      return -ENOMEM;
    /* Take the page faults now; and not with zeros, which a server that fills
     * in nothing could be mistaken for having sent.
     */
    memset (c->buffers, 0x5a, o->depth * max_len);
  }
  for (unsigned i = 0; i < o->depth; i++) {
    c->requests[i].connection = c;
    if (reads)
      c->requests[i].buffer = c->buffers + i * max_len;
    c->idle[c->nr_idle++] = &c->requests[i];
  }
  return 0;
}

struct connection *
connection_create (struct load *load, unsigned idx, char *error, size_t len)
{
  struct connection *c = calloc (1, sizeof *c);

  if (c == NULL) {
    snprintf (error, len, "%s", strerror (ENOMEM));
    return NULL;
  }
  c->load = load;
  c->idx = idx;
  c->rng = load->options.seed ^ ((uint64_t) idx << 32);
  if (open_handle (c, error, len) == -1) {
    connection_destroy (c);
    return NULL;
  }
  if (allocate (c) < 0) {
    snprintf (error, len, "%s", strerror (ENOMEM));
    connection_destroy (c);
    return NULL;
  }
  return c;
}

void
connection_destroy (struct connection *c)
{
  if (c == NULL)
    return;
  if (c->nbd != NULL && c->nr_idle == c->load->options.depth)
    nbd_aio_disconnect (c->nbd, 0);
  /* First: closing completes what is still in flight, into the buffers. */
  nbd_close (c->nbd);
  free (c->buffers);
  free (c->idle);
  free (c->requests);
  free (c);
}
