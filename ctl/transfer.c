/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the conversation with the NBD server: one thread, one poll loop over
 * one to CTL_MAX_CONNECTIONS libnbd handles, each kept busy with
 * REQUESTS_PER_CONNECTION requests, as a kernel client would.
 *
 *      next -> +----------------------------------------------+
 *      file    |  done  | in flight |       not yet asked     |
 *              +----------------------------------------------+
 *
 * Requests are issued in the order of the file and may end in any.  When one
 * fails or differs no more are issued, but those in flight are waited for:
 * all bytes before them have been asked for, so the lowest difference found
 * by then is the first in the file.
 *
 * Invariant: job.nr_in_flight is the number of busy requests of connections
 * that are not lost.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libnbd.h>

#include "progress.h"
#include "transfer.h"
#include "zspage-page.h"

#define REQUESTS_PER_CONNECTION 16

struct job;

struct request {
  struct job *job;
  struct connection *conn;
  bool busy;
  uint64_t pos; /* in the file */
  size_t len;
  unsigned char *file_bytes;   /* request_bytes long, allocated */
  unsigned char *device_bytes; /* the same; NULL when storing */
};

struct connection {
  struct nbd_handle *nbd; /* NULL before it is made */
  bool lost;
  unsigned nr_in_flight;
  struct request requests[REQUESTS_PER_CONNECTION];
};

struct job {
  const struct ctl_transfer *t;
  struct ctl_transfer_result *res;
  bool verify;
  int fd;
  size_t request_bytes; /* what both the user and the server want */
  uint64_t next;
  uint64_t done_bytes;
  unsigned nr_in_flight;
  int err; /* the first error, -errno, told in res->msg */
  struct ctl_progress progress;
  struct connection connections[CTL_MAX_CONNECTIONS];
};

/* Remember an error, unless there is one already: what follows the first is
 * mostly its consequence.
 */
static int fail (struct job *job, int err, const char *fs, ...)
  __attribute__ ((format (printf, 3, 4)));

static int
fail (struct job *job, int err, const char *fs, ...)
{
  va_list args;

  if (job->err == 0) {
    job->err = err < 0 ? err : -EIO;
    va_start (args, fs);
    vsnprintf (job->res->msg, sizeof job->res->msg, fs, args);
    va_end (args);
  }
  return job->err;
}

/* The same for what libnbd last complained of in this thread. */
static int
fail_nbd (struct job *job)
{
  return fail (job, -nbd_get_errno (), "%s: %s", job->t->uri, nbd_get_error ());
}

static bool
is_stopped (const struct job *job)
{
  return job->err != 0 || job->res->differs;
}

static int
open_file (struct job *job)
{
  const char *file = job->t->file;
  struct stat st;

  job->fd = open (file, O_RDONLY | O_CLOEXEC);
  if (job->fd == -1 || fstat (job->fd, &st) == -1)
    return fail (job, -errno, "%s: %s", file, strerror (errno));
  if (!S_ISREG (st.st_mode))
    return fail (job, -EINVAL, "%s: not a regular file", file);
  if (st.st_size == 0 || st.st_size % ZSPAGE_PAGE_SIZE != 0)
    return fail (job, -EINVAL,
                 "%s: %jd bytes are not one or more pages of %u bytes", file,
                 (intmax_t) st.st_size, ZSPAGE_PAGE_SIZE);
  job->res->nr_bytes = (uint64_t) st.st_size;
  return 0;
}

static int
connect_one (struct job *job, struct connection *conn)
{
  conn->nbd = nbd_create ();
  if (conn->nbd == NULL || nbd_connect_uri (conn->nbd, job->t->uri) == -1)
    return fail_nbd (job);
  return 0;
}

/* Ask the first connection whether the device will do. */
static int
check_device (struct job *job)
{
  struct nbd_handle *nbd = job->connections[0].nbd;
  const struct ctl_transfer *t = job->t;
  const uint64_t len = job->res->nr_bytes;
  int64_t size, minimum, maximum;

  size = nbd_get_size (nbd);
  if (size == -1)
    return fail_nbd (job);
  if (t->offset > (uint64_t) size || len > (uint64_t) size - t->offset)
    return fail (job, -ENOSPC,
                 "%s: the device has %" PRId64 " bytes, too small for the "
                 "%" PRIu64 " bytes of %s at offset %" PRIu64,
                 t->uri, size, len, t->file, t->offset);
  if (!job->verify && nbd_is_read_only (nbd) == 1)
    return fail (job, -EROFS, "%s: the export is read-only", t->uri);

  minimum = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);
  maximum = nbd_get_block_size (nbd, LIBNBD_SIZE_MAXIMUM);
  job->request_bytes = t->request_bytes;
  if (maximum > 0 && (uint64_t) maximum < job->request_bytes)
    job->request_bytes = (size_t) maximum;
  if (minimum > 1 && (t->offset % (uint64_t) minimum != 0 ||
                      job->request_bytes % (size_t) minimum != 0))
    return fail (job, -EINVAL,
                 "%s: the server wants offset and request size to be "
                 "multiples of %" PRId64 " bytes",
                 t->uri, minimum);
  return 0;
}

static int
allocate_requests (struct job *job, struct connection *conn)
{
  unsigned i;

  for (i = 0; i < REQUESTS_PER_CONNECTION; i++) {
    struct request *req = &conn->requests[i];

    req->job = job;
    req->conn = conn;
    req->file_bytes = malloc (job->request_bytes);
    req->device_bytes = job->verify ? malloc (job->request_bytes) : NULL;
    if (req->file_bytes == NULL || (job->verify && req->device_bytes == NULL))
      return fail (job, -ENOMEM, "%u requests of %zu bytes: %s",
                   REQUESTS_PER_CONNECTION * job->res->nr_connections,
                   job->request_bytes, strerror (ENOMEM));
  }
  return 0;
}

static int
connect_all (struct job *job)
{
  struct ctl_transfer_result *res = job->res;
  unsigned i;

  res->nr_connections = job->t->nr_connections;
  if (connect_one (job, &job->connections[0]) < 0 || check_device (job) < 0)
    return job->err;
  if (nbd_can_multi_conn (job->connections[0].nbd) != 1)
    res->nr_connections = 1;

  for (i = 0; i < res->nr_connections; i++) {
    if (i > 0 && connect_one (job, &job->connections[i]) < 0)
      return job->err;
    if (allocate_requests (job, &job->connections[i]) < 0)
      return job->err;
  }
  return 0;
}

/* Find where a request's bytes part, if they do. */
static void
compare (struct request *req)
{
  struct ctl_transfer_result *res = req->job->res;
  size_t i;

  if (memcmp (req->file_bytes, req->device_bytes, req->len) == 0)
    return;
  for (i = 0; req->file_bytes[i] == req->device_bytes[i]; i++)
    ;
  if (res->differs && res->differs_at < req->pos + i)
    return;
  res->differs = true;
  res->differs_at = req->pos + i;
  res->expected = req->file_bytes[i];
  res->found = req->device_bytes[i];
}

/* Called by libnbd, from inside any nbd_aio_* call on the request's own
 * connection.
 */
static int
request_done (void *opaque, int *error)
{
  struct request *req = opaque;
  struct job *job = req->job;

  if (!req->busy) /* its connection was given up */
    return 1;
  req->busy = false;
  req->conn->nr_in_flight--;
  job->nr_in_flight--;
  if (*error != 0)
    fail (job, -*error, "%s: %s of %zu bytes at offset %" PRIu64 ": %s",
          job->t->uri, job->verify ? "read" : "write", req->len,
          job->t->offset + req->pos, strerror (*error));
  else {
    if (job->verify)
      compare (req);
    job->done_bytes += req->len;
    if (!is_stopped (job))
      ctl_progress_update (&job->progress, job->done_bytes);
  }
  return 1; /* libnbd may forget the request */
}

static int
read_file (struct job *job, struct request *req)
{
  size_t done = 0;
  ssize_t n;

  while (done < req->len) {
    n = pread (job->fd, req->file_bytes + done, req->len - done,
               (off_t) (req->pos + done));
    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1)
      return fail (job, -errno, "%s: %s", job->t->file, strerror (errno));
    if (n == 0)
      return fail (job, -EIO, "%s: became shorter while it was read",
                   job->t->file);
    done += (size_t) n;
  }
  return 0;
}

static int
issue (struct job *job, struct request *req)
{
  const nbd_completion_callback callback = {.callback = request_done,
                                            .user_data = req};
  struct nbd_handle *nbd = req->conn->nbd;
  int64_t cookie;

  req->pos = job->next;
  req->len = job->request_bytes;
  if (req->len > job->res->nr_bytes - req->pos)
    req->len = (size_t) (job->res->nr_bytes - req->pos);
  if (read_file (job, req) < 0)
    return job->err;

  /* Counted before it is sent: it may be done before the call returns. */
  req->busy = true;
  req->conn->nr_in_flight++;
  job->nr_in_flight++;
  job->next += req->len;
  if (job->verify)
    cookie = nbd_aio_pread (nbd, req->device_bytes, req->len,
                            job->t->offset + req->pos, callback, 0);
  else
    cookie = nbd_aio_pwrite (nbd, req->file_bytes, req->len,
                             job->t->offset + req->pos, callback, 0);
  if (cookie == -1) {
    if (req->busy) {
      req->busy = false;
      req->conn->nr_in_flight--;
      job->nr_in_flight--;
    }
    return fail_nbd (job);
  }
  return 0;
}

/* Give each idle request of each live connection something to do, one round
 * over the connections at a time so that they share the file evenly.
 */
static void
issue_all (struct job *job)
{
  unsigned i, j;

  for (j = 0; j < REQUESTS_PER_CONNECTION; j++) {
    for (i = 0; i < job->res->nr_connections; i++) {
      struct connection *conn = &job->connections[i];

      if (is_stopped (job) || job->next >= job->res->nr_bytes)
        return;
      if (!conn->lost && !conn->requests[j].busy)
        issue (job, &conn->requests[j]);
    }
  }
}

/* Whatever libnbd still holds of this connection will not come any more. */
static void
lose (struct job *job, struct connection *conn)
{
  unsigned i;

  fail (job, -ENOTCONN, "%s: the server closed the connection", job->t->uri);
  conn->lost = true;
  for (i = 0; i < REQUESTS_PER_CONNECTION; i++)
    conn->requests[i].busy = false;
  job->nr_in_flight -= conn->nr_in_flight;
  conn->nr_in_flight = 0;
}

static void
notify (struct job *job, struct connection *conn, unsigned direction,
        short revents)
{
  int r = 0;

  if ((revents & (POLLIN | POLLHUP)) != 0 &&
      (direction & LIBNBD_AIO_DIRECTION_READ) != 0)
    r = nbd_aio_notify_read (conn->nbd);
  else if ((revents & POLLOUT) != 0 &&
           (direction & LIBNBD_AIO_DIRECTION_WRITE) != 0)
    r = nbd_aio_notify_write (conn->nbd);
  else if (revents != 0)
    r = -1;

  if (r == -1 && job->err == 0 && nbd_get_errno () != 0)
    fail_nbd (job);
  if (r == -1 || nbd_aio_is_dead (conn->nbd) == 1 ||
      nbd_aio_is_closed (conn->nbd) == 1)
    lose (job, conn);
}

/* Wait until a connection can go on, and let it. */
static int
poll_all (struct job *job)
{
  struct pollfd fds[CTL_MAX_CONNECTIONS];
  struct connection *conns[CTL_MAX_CONNECTIONS];
  unsigned directions[CTL_MAX_CONNECTIONS];
  unsigned i, nr = 0;

  for (i = 0; i < job->res->nr_connections; i++) {
    struct connection *conn = &job->connections[i];

    if (conn->lost || conn->nr_in_flight == 0)
      continue;
    conns[nr] = conn;
    directions[nr] = nbd_aio_get_direction (conn->nbd);
    fds[nr].fd = nbd_aio_get_fd (conn->nbd);
    fds[nr].revents = 0;
    fds[nr].events = 0;
    if (directions[nr] & LIBNBD_AIO_DIRECTION_READ)
      fds[nr].events |= POLLIN;
    if (directions[nr] & LIBNBD_AIO_DIRECTION_WRITE)
      fds[nr].events |= POLLOUT;
    nr++;
  }
  if (poll (fds, nr, -1) == -1) {
    if (errno == EINTR)
      return 0;
    return fail (job, -errno, "poll: %s", strerror (errno));
  }
  for (i = 0; i < nr; i++) {
    if (fds[i].revents != 0)
      notify (job, conns[i], directions[i], fds[i].revents);
  }
  return 0;
}

static int
flush_device (struct job *job)
{
  struct nbd_handle *nbd = job->connections[0].nbd;

  if (nbd_can_flush (nbd) == 1 && nbd_flush (nbd, 0) == -1)
    return fail_nbd (job);
  return 0;
}

static void
run (struct job *job)
{
  const uint64_t start_ns = ctl_now_ns ();

  ctl_progress_start (&job->progress, job->verify ? "verify" : "store",
                      job->res->nr_bytes);
  do {
    issue_all (job);
    if (job->nr_in_flight > 0 && poll_all (job) < 0)
      break;
  } while (job->nr_in_flight > 0 ||
           (!is_stopped (job) && job->next < job->res->nr_bytes));
  if (!job->verify && job->err == 0)
    flush_device (job);
  ctl_progress_stop (&job->progress);
  job->res->ns = ctl_now_ns () - start_ns;
}

static void
finish (struct job *job)
{
  unsigned i, j;

  for (i = 0; i < CTL_MAX_CONNECTIONS; i++) {
    struct connection *conn = &job->connections[i];

    if (conn->nbd != NULL) {
      if (!conn->lost && job->err == 0)
        nbd_shutdown (conn->nbd, 0);
      nbd_close (conn->nbd);
    }
    /* Only now are no buffers in use. */
    for (j = 0; j < REQUESTS_PER_CONNECTION; j++) {
      free (conn->requests[j].file_bytes);
      free (conn->requests[j].device_bytes);
    }
  }
  if (job->fd != -1)
    close (job->fd);
}

static int
transfer (const struct ctl_transfer *t, struct ctl_transfer_result *res,
          bool verify)
{
  struct job *job;
  int err;

  memset (res, 0, sizeof *res);
  job = calloc (1, sizeof *job);
  if (job == NULL) {
    snprintf (res->msg, sizeof res->msg, "%s", strerror (ENOMEM));
    return -ENOMEM;
  }
  job->t = t;
  job->res = res;
  job->verify = verify;
  job->fd = -1;

  if (open_file (job) == 0 && connect_all (job) == 0)
    run (job);
  finish (job);
  err = job->err;
  free (job);
  return err;
}

int
ctl_store (const struct ctl_transfer *t, struct ctl_transfer_result *res)
{
  return transfer (t, res, false);
}

int
ctl_verify (const struct ctl_transfer *t, struct ctl_transfer_result *res)
{
  return transfer (t, res, true);
}
