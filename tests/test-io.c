/* SPDX-License-Identifier: BSD-3-Clause */
/* test-io [--may-be-full] URI SEED NR_REQUESTS [LONGEST]: requests of every
 * kind and of 1 byte to 32 MiB, or LONGEST, aligned and not, against a copy of
 * the device.
 *
 * Four connections, one thread each, have up to 16 requests in flight.  Each
 * connection has a part of the device for itself, whose boundaries are not
 * those of pages, and requests in flight on it do not overlap: so that what
 * has to be read is always known, while pages are shared by requests and by
 * connections.  When all is done, each connection reads what another one
 * wrote.  One of the four does without structured replies.
 *
 * With --may-be-full writes may fail with ENOSPC.  Pages before the one that
 * did not fit must then be new, and all others old.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "client.h"

#define NR_CONNECTIONS 4
#define NR_IN_FLIGHT   16

/* What a connection may have in flight: long requests leave few others. */
#define MAX_BYTES_IN_FLIGHT (64 * MIB)

enum op {
  OP_NONE,
  OP_READ,
  OP_WRITE,
  OP_TRIM,
  OP_ZERO,
  OP_FLUSH,
};

struct request {
  enum op op;
  int64_t cookie;
  uint64_t offset;
  size_t len;
  uint8_t *buf;
};

struct connection {
  pthread_t thread;
  const char *uri;
  unsigned nr;
  uint64_t rng;
  unsigned nr_requests; /* yet to be issued */
  uint64_t start, end;  /* of its part */
  struct request requests[NR_IN_FLIGHT];
  uint64_t bytes_in_flight;
  uint64_t verified; /* up to there, in the second half of the test */
  uint64_t nr_full;  /* writes that failed with ENOSPC */
};

static uint8_t *shadow; /* what the device should hold */
static uint64_t device_size;
static uint64_t nr_requests;
static uint64_t longest = MAX_REQUEST;
static bool may_be_full;

static uint64_t
pick_any_len (uint64_t *rng)
{
  switch (rng_below (rng, 16)) {
  case 0:
  case 1:
  case 2:
    return 1 + rng_below (rng, PAGE);
  case 3:
  case 4:
  case 5:
  case 6:
  case 7:
    return PAGE;
  case 8:
  case 9:
  case 10:
    return PAGE * (1 + rng_below (rng, 32));
  case 11:
  case 12:
    return 1 + rng_below (rng, 128 * KIB);
  case 13:
    return 32 * KIB;
  case 14:
    return 1 + rng_below (rng, MIB);
  default:
    if (rng_below (rng, 8) == 0)
      return 1 + rng_below (rng, MAX_REQUEST);
    return 1 + rng_below (rng, 4 * MIB);
  }
}

static uint64_t
pick_len (uint64_t *rng)
{
  uint64_t len = pick_any_len (rng);

  return len < longest ? len : longest;
}

static enum op
pick_op (uint64_t *rng)
{
  uint64_t n = rng_below (rng, 100);

  return n < 48   ? OP_WRITE
         : n < 80 ? OP_READ
         : n < 89 ? OP_TRIM
         : n < 98 ? OP_ZERO
                  : OP_FLUSH;
}

static bool
overlaps_others (const struct connection *c, uint64_t offset, uint64_t len)
{
  unsigned i;

  for (i = 0; i < NR_IN_FLIGHT; ++i) {
    const struct request *rq = &c->requests[i];

    if (rq->op != OP_NONE && rq->offset < offset + len &&
        offset < rq->offset + rq->len)
      return true;
  }
  return false;
}

/* Choose a range for a request; false if there was none of that length. */
static bool
pick_range (struct connection *c, struct request *rq, uint64_t len)
{
  uint64_t room = c->end - c->start;
  unsigned tries;

  if (len > room || c->bytes_in_flight + len > MAX_BYTES_IN_FLIGHT)
    return false;
  for (tries = 0; tries < 20; ++tries) {
    uint64_t offset = c->start + rng_below (&c->rng, room - len + 1);

    if (rng_below (&c->rng, 2) && offset - offset % PAGE >= c->start)
      offset -= offset % PAGE;
    if (!overlaps_others (c, offset, len)) {
      rq->offset = offset;
      rq->len = len;
      return true;
    }
  }
  return false;
}

/* Mixed content, as devices have. */
static void
make_content (struct connection *c, struct request *rq)
{
  struct data data;
  size_t done = 0;

  while (done < rq->len) {
    size_t n = 1 + rng_below (&c->rng, 64 * KIB);
    uint64_t kind = rng_below (&c->rng, 8);

    if (n > rq->len - done)
      n = rq->len - done;
    data.kind = kind < 4 ? DATA_TEXT : kind < 6 ? DATA_RANDOM : DATA_FILL;
    data.seed = kind == 7 ? 0 : rng_below (&c->rng, 256);
    data_make (&data, rq->buf + done, rq->offset + done, n);
    done += n;
  }
}

/* A trim leaves the parts of pages at its edges alone. */
static void
shadow_discard (const struct request *rq)
{
  uint64_t first = (rq->offset + PAGE - 1) / PAGE * PAGE;
  uint64_t end = (rq->offset + rq->len) / PAGE * PAGE;

  if (first < end)
    memset (shadow + first, 0, end - first);
}

static int
random_flags (struct connection *c, enum op op)
{
  int flags = 0;

  if (rng_below (&c->rng, 4) == 0)
    flags |= LIBNBD_CMD_FLAG_FUA;
  if (op == OP_ZERO && rng_below (&c->rng, 2))
    flags |= LIBNBD_CMD_FLAG_NO_HOLE;
  if (op == OP_ZERO && rng_below (&c->rng, 2))
    flags |= LIBNBD_CMD_FLAG_FAST_ZERO;
  return flags;
}

static int64_t
send_request (struct connection *c, struct nbd_handle *nbd, struct request *rq)
{
  switch (rq->op) {
  case OP_READ:
    rq->buf = xmalloc (rq->len);
    return nbd_aio_pread (nbd, rq->buf, rq->len, rq->offset,
                          NBD_NULL_COMPLETION, 0);
  case OP_WRITE:
    rq->buf = xmalloc (rq->len);
    make_content (c, rq);
    return nbd_aio_pwrite (nbd, rq->buf, rq->len, rq->offset,
                           NBD_NULL_COMPLETION, random_flags (c, OP_WRITE));
  case OP_TRIM:
    return nbd_aio_trim (nbd, rq->len, rq->offset, NBD_NULL_COMPLETION,
                         random_flags (c, OP_TRIM));
  case OP_ZERO:
    return nbd_aio_zero (nbd, rq->len, rq->offset, NBD_NULL_COMPLETION,
                         random_flags (c, OP_ZERO));
  default:
    return nbd_aio_flush (nbd, NBD_NULL_COMPLETION, 0);
  }
}

static void
issue (struct connection *c, struct nbd_handle *nbd, struct request *rq)
{
  rq->cookie = send_request (c, nbd, rq);
  if (rq->cookie == -1)
    DIE ("connection %u: %s", c->nr, nbd_get_error ());
  c->bytes_in_flight += rq->len;
}

/* The next request at random; false if there is none left to issue. */
static bool
next_random (struct connection *c, struct request *rq)
{
  enum op op;

  if (c->nr_requests == 0)
    return false;
  op = pick_op (&c->rng);
  *rq = (struct request){.op = OP_NONE};
  if (c->nr_requests == nr_requests) {
    /* One of the longest while there is room for it. */
    if (!pick_range (c, rq, longest))
      DIE ("the device is too small");
    op = OP_WRITE;
  }
  else if (op != OP_FLUSH && !pick_range (c, rq, pick_len (&c->rng)) &&
           !pick_range (c, rq, 1))
    return false; /* when fewer are in flight */
  rq->op = op;
  c->nr_requests--;
  return true;
}

/* The next piece of what another connection wrote. */
static bool
next_verify (struct connection *c, struct request *rq)
{
  uint64_t len = c->end - c->verified;

  if (len == 0)
    return false;
  if (len > 256 * KIB)
    len = 1 + rng_below (&c->rng, 256 * KIB);
  *rq = (struct request){.op = OP_READ, .offset = c->verified, .len = len};
  c->verified += len;
  return true;
}

/* A write, or a zero of parts of pages, that found no room: a number of its
 * pages are new, the rest old.  Read it, and take what it is.
 */
static void
take_failed (struct connection *c, struct nbd_handle *nbd,
             const struct request *rq)
{
  uint8_t *now = xmalloc (rq->len), *new = rq->buf;
  uint64_t at = rq->offset, end = rq->offset + rq->len;
  bool is_new = true;

  c->nr_full++;
  NBD (nbd_pread (nbd, now, rq->len, rq->offset, 0));
  while (at < end) {
    uint64_t next = (at / PAGE + 1) * PAGE, i = at - rq->offset;
    size_t n = (next < end ? next : end) - at;

    if (is_new && memcmp (now + i, new + i, n) != 0)
      is_new = false;
    if (is_new)
      memcpy (shadow + at, new + i, n);
    else
      data_compare (now + i, shadow + at, n, at, "after a failed write");
    at += n;
  }
  free (now);
}

static void
take_done (const struct request *rq)
{
  switch (rq->op) {
  case OP_READ:
    data_compare (rq->buf, shadow + rq->offset, rq->len, rq->offset, "read");
    break;
  case OP_WRITE:
    memcpy (shadow + rq->offset, rq->buf, rq->len);
    break;
  case OP_TRIM:
    shadow_discard (rq);
    break;
  case OP_ZERO:
    memset (shadow + rq->offset, 0, rq->len);
    break;
  default:
    break;
  }
}

static void
finish (struct connection *c, struct nbd_handle *nbd, struct request *rq, int r)
{
  int err = r == -1 ? nbd_get_errno () : 0;

  if (err == ENOSPC && may_be_full &&
      (rq->op == OP_WRITE || rq->op == OP_ZERO)) {
    if (rq->op == OP_ZERO)
      rq->buf = xcalloc (rq->len);
    take_failed (c, nbd, rq);
  }
  else if (r == -1)
    DIE ("connection %u, %zu bytes at offset %" PRIu64 ": %s", c->nr, rq->len,
         rq->offset, nbd_get_error ());
  else
    take_done (rq);

  free (rq->buf);
  rq->buf = NULL;
  rq->op = OP_NONE;
  c->bytes_in_flight -= rq->len;
}

/* Issue what there is room for; returns how many are in flight. */
static unsigned
fill (struct connection *c, struct nbd_handle *nbd,
      bool (*next) (struct connection *, struct request *))
{
  struct request rq;
  unsigned i, in_flight = 0;
  bool more = true;

  for (i = 0; i < NR_IN_FLIGHT; ++i) {
    if (c->requests[i].op == OP_NONE && more) {
      more = next (c, &rq);
      if (more) {
        issue (c, nbd, &rq);
        c->requests[i] = rq;
      }
    }
    in_flight += c->requests[i].op != OP_NONE;
  }
  return in_flight;
}

/* Take what is completed; returns how many were. */
static unsigned
drain (struct connection *c, struct nbd_handle *nbd)
{
  unsigned i, done = 0;
  int r;

  for (i = 0; i < NR_IN_FLIGHT; ++i) {
    struct request *rq = &c->requests[i];

    if (rq->op == OP_NONE)
      continue;
    r = nbd_aio_command_completed (nbd, rq->cookie);
    if (r == 0)
      continue;
    finish (c, nbd, rq, r);
    done++;
  }
  return done;
}

/* Keep requests in flight until there are no more. */
static void
run (struct connection *c, struct nbd_handle *nbd,
     bool (*next) (struct connection *, struct request *))
{
  /* There may be nothing to wait for: a synchronous call meanwhile may have
   * completed everything.
   */
  while (fill (c, nbd, next) > 0)
    if (drain (c, nbd) == 0 && nbd_poll (nbd, -1) == -1)
      DIE ("connection %u: %s", c->nr, nbd_get_error ());
}

static struct nbd_handle *
connect_as (const struct connection *c)
{
  struct nbd_handle *nbd = nbd_create ();

  if (nbd == NULL)
    DIE ("%s", nbd_get_error ());
  if (c->nr == 0) {
    NBD (nbd_set_request_structured_replies (nbd, false));
    NBD (nbd_connect_uri (nbd, c->uri));
    ASSERT_INT (nbd_get_structured_replies_negotiated (nbd), ==, 0);
  }
  else {
    NBD (nbd_connect_uri (nbd, c->uri));
    ASSERT_INT (nbd_get_structured_replies_negotiated (nbd), ==, 1);
  }
  return nbd;
}

static void *
write_thread (void *arg)
{
  struct connection *c = arg;
  struct nbd_handle *nbd = connect_as (c);

  run (c, nbd, next_random);
  client_close (nbd);
  return NULL;
}

static void *
verify_thread (void *arg)
{
  struct connection *c = arg;
  struct nbd_handle *nbd = connect_as (c);

  run (c, nbd, next_verify);
  client_close (nbd);
  return NULL;
}

static void
run_threads (struct connection *connections, void *(*fn) (void *) )
{
  unsigned i;

  for (i = 0; i < NR_CONNECTIONS; ++i) {
    int err =
      pthread_create (&connections[i].thread, NULL, fn, &connections[i]);

    if (err != 0)
      DIE ("pthread_create: %s", strerror (err));
  }
  for (i = 0; i < NR_CONNECTIONS; ++i)
    pthread_join (connections[i].thread, NULL);
}

/* Where the part of connection nr begins: not on a page. */
static uint64_t
part_start (unsigned nr)
{
  if (nr == 0 || nr == NR_CONNECTIONS)
    return device_size / NR_CONNECTIONS * nr;
  return device_size / NR_CONNECTIONS * nr + 1234 * nr + 1;
}

static uint64_t
get_size (const char *uri)
{
  struct nbd_handle *nbd = client_connect (uri);
  int64_t size = nbd_get_size (nbd);

  ASSERT_INT (size, >, 0);
  client_close (nbd);
  return size;
}

int
main (int argc, char *argv[])
{
  struct connection connections[NR_CONNECTIONS];
  uint64_t seed, nr_full = 0;
  unsigned i;

  if (argc > 1 && strcmp (argv[1], "--may-be-full") == 0) {
    may_be_full = true;
    argc--;
    argv++;
  }
  if (argc != 4 && argc != 5)
    DIE ("usage: test-io [--may-be-full] URI SEED NR_REQUESTS [LONGEST]");
  seed = parse_number (argv[2]);
  nr_requests = parse_number (argv[3]);
  if (argc == 5)
    longest = parse_number (argv[4]);
  device_size = get_size (argv[1]);
  shadow = xcalloc (device_size);
  printf ("seed %" PRIu64 ", %" PRIu64 " requests on each of %u connections\n",
          seed, nr_requests, NR_CONNECTIONS);
  fflush (stdout);

  for (i = 0; i < NR_CONNECTIONS; ++i)
    connections[i] = (struct connection){
      .uri = argv[1],
      .nr = i,
      .rng = seed * NR_CONNECTIONS + i,
      .nr_requests = nr_requests,
      .start = part_start (i),
      .end = part_start (i + 1),
    };
  run_threads (connections, write_thread);

  for (i = 0; i < NR_CONNECTIONS; ++i) {
    struct connection *c = &connections[i];
    unsigned other = (i + 1) % NR_CONNECTIONS;

    nr_full += c->nr_full;
    c->start = c->verified = part_start (other);
    c->end = part_start (other + 1);
  }
  run_threads (connections, verify_thread);

  printf ("%" PRIu64 " bytes verified, %" PRIu64 " writes found no room\n",
          device_size, nr_full);
  if (may_be_full)
    ASSERT_INT (nr_full, >, 0);
  free (shadow);
  return 0;
}
