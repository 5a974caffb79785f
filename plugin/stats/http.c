/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTTP endpoint: libmicrohttpd, driven by its epoll descriptor from the
 * housekeeper's loop.
 *
 * It must not matter to anybody else what a client does.  Answers are made in
 * memory at once; what takes long is done in slices, with the connection
 * suspended.
 * A connection has a bounded buffer, a bounded body, and a deadline for all of
 * a request, after which it is shut down however busy it looks; and there may
 * be far more of them than an attacker's limit of descriptors usually allows.
 */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "dictionary.h"
#include "http.h"

#define MAX_CONNECTIONS   1024u
#define CONNECTION_BYTES  (16 * 1024u)
#define MAX_BODY          255u
#define BLOCK_STATE_BYTES 8192u
/* From the first byte of a connection, or the end of its last request. */
#define REQUEST_DEADLINE_MS 5000u
/* What of a long answer must be taken in that time, to get as much again. */
#define DEADLINE_BYTES (UINT64_C (1) << 20)
#define SWEEP_MS       500u

/* A connection; in http.connections. */
struct connection {
  struct connection *prev, *next;
  struct MHD_Connection *mhd;
  uint64_t deadline; /* of uv_now; 0 while the server is at work */
};

struct http {
  struct housekeeper *hk;
  struct stats_devices devices;
  bool read_only;
  struct MHD_Daemon *daemon;
  uv_poll_t poll;
  uv_timer_t timer; /* libmicrohttpd's own time-outs */
  uv_timer_t sweep; /* ours */
  struct connection *connections;
};

/* A request. */
struct request {
  struct http *http;
  struct connection *connection;
  struct MHD_Connection *mhd;
  char body[MAX_BODY + 1];
  size_t body_len;
  bool too_long;
  bool is_at_job, is_done;
  const struct stats_node *job; /* that writing of which ordered it */
  size_t index;                 /* of the device */
};

static void on_timer (uv_timer_t *timer);

static void
deadline_set (const struct http *http, struct connection *c)
{
  c->deadline = uv_now (housekeeper_loop (http->hk)) + REQUEST_DEADLINE_MS;
}

static enum MHD_Result
answer (struct MHD_Connection *mhd, unsigned status, const char *type,
        char *text, const char *allow)
{
  struct MHD_Response *response;
  enum MHD_Result r;

  if (text == NULL)
    return MHD_NO; /* no memory: the connection is closed */
  response = MHD_create_response_from_buffer (strlen (text), text,
                                              MHD_RESPMEM_MUST_FREE);
  if (response == NULL) {
    free (text);
    return MHD_NO;
  }
  MHD_add_response_header (response, "Content-Type", type);
  MHD_add_response_header (response, "Cache-Control", "no-store");
  if (allow)
    MHD_add_response_header (response, "Allow", allow);
  r = MHD_queue_response (mhd, status, response);
  MHD_destroy_response (response);
  return r;
}

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* A refusal, with a sentence. */
static enum MHD_Result
refuse (struct MHD_Connection *mhd, unsigned status, const char *allow,
        const char *sentence)
{
  char *text;

  if (asprintf (&text, "%s\n", sentence) == -1)
    text = NULL;
  return answer (mhd, status, TEXT_PLAIN, text, allow);
}

static bool
accepts_openmetrics (struct MHD_Connection *mhd)
{
  const char *accept =
    MHD_lookup_connection_value (mhd, MHD_HEADER_KIND, "Accept");

  return accept && strstr (accept, "application/openmetrics-text");
}

static enum MHD_Result
get_metrics (struct request *rq)
{
  bool openmetrics = accepts_openmetrics (rq->mhd);

  return answer (rq->mhd, MHD_HTTP_OK,
                 openmetrics ? "application/openmetrics-text; version=1.0.0; "
                               "charset=utf-8"
                             : "text/plain; version=0.0.4; charset=utf-8",
                 stats_metrics (&rq->http->devices, openmetrics), NULL);
}

static bool
find_device (const struct stats_devices *devices, const char *name, size_t len,
             size_t *index)
{
  size_t i, nr = devices->nr (devices->opaque);

  for (i = 0; i < nr; ++i) {
    struct stats_device device = devices->get (devices->opaque, i);

    if (strlen (device.name) == len && memcmp (device.name, name, len) == 0) {
      *index = i;
      return true;
    }
  }
  return false;
}

/* block_state can be long, so it is made as it is sent. */
struct block_state {
  struct request *request;
  struct store *store;
  uint64_t page;
  uint64_t deadline_at; /* bytes sent, after which there is more time */
};

static ssize_t
block_state_read (void *opaque, uint64_t pos, char *buf, size_t size)
{
  struct block_state *bs = opaque;
  size_t n = stats_block_state_part (bs->store, &bs->page, buf, size);

  /* Whoever takes it at some speed gets all of it. */
  if (pos >= bs->deadline_at) {
    deadline_set (bs->request->http, bs->request->connection);
    bs->deadline_at = pos + DEADLINE_BYTES;
  }
  return n > 0 ? (ssize_t) n : MHD_CONTENT_READER_END_OF_STREAM;
}

static enum MHD_Result
get_block_state (struct request *rq, struct store *store)
{
  struct block_state *bs = calloc (1, sizeof *bs);
  struct MHD_Response *response;
  enum MHD_Result r;

  if (bs == NULL)
    return MHD_NO;
  bs->request = rq;
  bs->store = store;
  bs->deadline_at = DEADLINE_BYTES;
  response = MHD_create_response_from_callback (
    MHD_SIZE_UNKNOWN, BLOCK_STATE_BYTES, block_state_read, bs, free);
  if (response == NULL) {
    free (bs);
    return MHD_NO;
  }
  MHD_add_response_header (response, "Content-Type", TEXT_PLAIN);
  MHD_add_response_header (response, "Cache-Control", "no-store");
  r = MHD_queue_response (rq->mhd, MHD_HTTP_OK, response);
  MHD_destroy_response (response);
  return r;
}

/* It has pieces of pages, which are not for everybody who may see figures. */
static enum MHD_Result
get_dictionary (struct request *rq, struct store *store)
{
  const struct dictionary *d;
  struct MHD_Response *response;
  enum MHD_Result r;
  const void *bytes;
  uint64_t pages;
  size_t len;

  if (rq->http->read_only)
    return refuse (rq->mhd, MHD_HTTP_FORBIDDEN, NULL,
                   "a dictionary has pieces of pages; use the unix socket");
  d = store_dictionary (store, store_generation (store), &pages);
  if (d == NULL)
    return refuse (rq->mhd, MHD_HTTP_CONFLICT, NULL,
                   "this device has no dictionary");
  bytes = dictionary_bytes (d, &len);
  response = MHD_create_response_from_buffer (len, (void *) bytes,
                                              MHD_RESPMEM_MUST_COPY);
  if (response == NULL)
    return MHD_NO;
  MHD_add_response_header (response, "Content-Type",
                           "application/octet-stream");
  MHD_add_response_header (response, "Cache-Control", "no-store");
  r = MHD_queue_response (rq->mhd, MHD_HTTP_OK, response);
  MHD_destroy_response (response);
  return r;
}

static enum MHD_Result
get_node (struct request *rq, const struct stats_node *node,
          const struct stats_device *device)
{
  bool is_json = strcmp (node->name, "stats.json") == 0;

  if (node->read == NULL)
    return refuse (rq->mhd, MHD_HTTP_METHOD_NOT_ALLOWED, "PUT",
                   "this attribute can only be written");
  if (node->special == STATS_LONG)
    return get_block_state (rq, device->store);
  if (node->special == STATS_DICTIONARY)
    return get_dictionary (rq, device->store);
  return answer (rq->mhd, MHD_HTTP_OK,
                 is_json ? "application/json" : TEXT_PLAIN, node->read (device),
                 NULL);
}

/* After a reset clients may come again. */
static void
job_end (struct request *rq)
{
  const struct stats_devices *devices = &rq->http->devices;
  struct stats_device device = devices->get (devices->opaque, rq->index);

  if (rq->job->job == JOB_RESET)
    device.reset_end (device.opaque);
}

/* What a client waits for is done; on the loop thread. */
static void
job_done (void *opaque)
{
  struct request *rq = opaque;

  job_end (rq);
  rq->is_done = true;
  MHD_resume_connection (rq->mhd);
  /* The loop looks again at once. */
  uv_timer_start (&rq->http->timer, on_timer, 0, 0);
}

/* Begin what a write ordered, and let the client wait for its end. */
static enum MHD_Result
job_begin (struct request *rq, const struct stats_node *node, size_t index,
           const struct chore_order *order)
{
  rq->is_at_job = true;
  rq->job = node;
  rq->index = index;
  rq->connection->deadline = 0;
  MHD_suspend_connection (rq->mhd);
  if (housekeeper_do (rq->http->hk, index, order, job_done, rq) < 0) {
    job_end (rq);
    MHD_resume_connection (rq->mhd);
    return MHD_NO;
  }
  return MHD_YES;
}

static enum MHD_Result
job_answer (struct request *rq)
{
  deadline_set (rq->http, rq->connection);
  return answer (rq->mhd, MHD_HTTP_OK, TEXT_PLAIN, strdup (""), NULL);
}

static enum MHD_Result
put_node (struct request *rq, const struct stats_node *node,
          const struct stats_device *device, size_t index)
{
  struct chore_order order = {.job = node->job};
  char why[256];
  int r;

  if (node->write == NULL || rq->http->read_only)
    return refuse (
      rq->mhd, MHD_HTTP_METHOD_NOT_ALLOWED, node->read ? "GET, HEAD" : NULL,
      rq->http->read_only ? "this socket is read-only; use the unix socket"
                          : "this attribute can only be read");
  if (rq->too_long)
    return refuse (rq->mhd, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
                   "a value has at most 255 bytes");
  /* As with sysfs, a newline at the end is no part of the value. */
  if (rq->body_len > 0 && rq->body[rq->body_len - 1] == '\n')
    rq->body_len--;
  rq->body[rq->body_len] = '\0';
  if (strlen (rq->body) != rq->body_len)
    return refuse (rq->mhd, MHD_HTTP_BAD_REQUEST, NULL,
                   "a value has no zero bytes");
  r = node->write (device, rq->body, &order, why, sizeof why);
  if (r == 0 && node->has_job)
    return job_begin (rq, node, index, &order);
  if (r == 0)
    return answer (rq->mhd, MHD_HTTP_OK, TEXT_PLAIN, strdup (""), NULL);
  return refuse (
    rq->mhd, r == -EBUSY ? MHD_HTTP_CONFLICT : MHD_HTTP_BAD_REQUEST, NULL, why);
}

/* Everything under /devices/; path is what follows. */
static enum MHD_Result
device_route (struct request *rq, const char *path, bool is_put)
{
  const char *slash = strchr (path, '/');
  const struct stats_node *node;
  struct stats_device device;
  size_t index;

  if (!find_device (&rq->http->devices, path,
                    slash ? (size_t) (slash - path) : strlen (path), &index))
    return refuse (rq->mhd, MHD_HTTP_NOT_FOUND, NULL,
                   "no such device; GET /devices lists them");
  if (slash == NULL)
    return refuse (rq->mhd, MHD_HTTP_NOT_FOUND, NULL,
                   "which attribute? zspage-stats(7) lists them");
  node = stats_node_by_name (slash + 1);
  if (node == NULL)
    return refuse (rq->mhd, MHD_HTTP_NOT_FOUND, NULL,
                   "no such attribute; zspage-stats(7) lists them");
  device = rq->http->devices.get (rq->http->devices.opaque, index);
  return is_put ? put_node (rq, node, &device, index)
                : get_node (rq, node, &device);
}

static enum MHD_Result
route (struct request *rq, const char *url, const char *method)
{
  bool is_put = strcmp (method, "PUT") == 0;

  if (!is_put && strcmp (method, "GET") != 0 && strcmp (method, "HEAD") != 0)
    return refuse (rq->mhd, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD, PUT",
                   "the method must be GET, HEAD or PUT");
  if (strncmp (url, "/devices/", 9) == 0)
    return device_route (rq, url + 9, is_put);
  if (strcmp (url, "/devices") != 0 && strcmp (url, "/metrics") != 0)
    return refuse (rq->mhd, MHD_HTTP_NOT_FOUND, NULL,
                   "there are /devices, /devices/NAME/ATTRIBUTE and /metrics");
  if (is_put)
    return refuse (rq->mhd, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD",
                   "this can only be read");
  if (url[1] == 'm')
    return get_metrics (rq);
  return answer (rq->mhd, MHD_HTTP_OK, "application/json",
                 stats_json_devices (&rq->http->devices), NULL);
}

static struct connection *
connection_of (struct MHD_Connection *mhd)
{
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info (mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

  return info ? info->socket_context : NULL;
}

static enum MHD_Result
on_request (void *opaque, struct MHD_Connection *mhd, const char *url,
            const char *method, const char *version, const char *body,
            size_t *body_len, void **state)
{
  struct request *rq = *state;

  (void) version;
  if (rq == NULL) {
    rq = calloc (1, sizeof *rq);
    if (rq == NULL)
      return MHD_NO;
    rq->http = opaque;
    rq->mhd = mhd;
    rq->connection = connection_of (mhd);
    *state = rq;
    return rq->connection ? MHD_YES : MHD_NO;
  }
  if (*body_len > 0) {
    size_t room = MAX_BODY - rq->body_len;

    /* What is too long is read to its end, or the deadline, and refused. */
    if (*body_len > room)
      rq->too_long = true;
    else {
      memcpy (rq->body + rq->body_len, body, *body_len);
      rq->body_len += *body_len;
    }
    *body_len = 0;
    return MHD_YES;
  }
  if (rq->is_at_job)
    return rq->is_done ? job_answer (rq) : MHD_YES;
  return route (rq, url, method);
}

static void
on_completed (void *opaque, struct MHD_Connection *mhd, void **state,
              enum MHD_RequestTerminationCode code)
{
  struct http *http = opaque;
  struct request *rq = *state;

  (void) mhd;
  (void) code;
  if (rq && rq->connection)
    deadline_set (http, rq->connection);
  free (rq);
  *state = NULL;
}

static void
on_connection (void *opaque, struct MHD_Connection *mhd, void **context,
               enum MHD_ConnectionNotificationCode code)
{
  struct http *http = opaque;
  struct connection *c = *context;

  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    c = calloc (1, sizeof *c);
    *context = c;
    if (c == NULL)
      return; /* its requests will be refused */
    c->mhd = mhd;
    deadline_set (http, c);
    c->next = http->connections;
    if (c->next)
      c->next->prev = c;
    http->connections = c;
  }
  else if (c) {
    if (c->next)
      c->next->prev = c->prev;
    if (c->prev)
      c->prev->next = c->next;
    else
      http->connections = c->next;
    free (c);
    *context = NULL;
  }
}

/* Shut down connections whose deadline has passed. */
static void
on_sweep (uv_timer_t *timer)
{
  struct http *http = timer->data;
  uint64_t now = uv_now (timer->loop);
  struct connection *c;

  for (c = http->connections; c; c = c->next) {
    const union MHD_ConnectionInfo *info;

    if (c->deadline == 0 || now < c->deadline)
      continue;
    info = MHD_get_connection_info (c->mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
      shutdown (info->connect_fd, SHUT_RDWR);
  }
}

/* Let the library work, and find out when it wants to again. */
static void
run (struct http *http)
{
  MHD_UNSIGNED_LONG_LONG ms;

  MHD_run (http->daemon);
  if (MHD_get_timeout (http->daemon, &ms) == MHD_YES)
    uv_timer_start (&http->timer, on_timer, ms, 0);
  else
    uv_timer_stop (&http->timer);
}

static void
on_timer (uv_timer_t *timer)
{
  run (timer->data);
}

static void
on_poll (uv_poll_t *poll, int status, int events)
{
  (void) status;
  (void) events;
  run (poll->data);
}

/* Leave most descriptors to the clients of the devices. */
static unsigned
max_connections (unsigned nr_sockets)
{
  struct rlimit limit;
  rlim_t most;

  if (getrlimit (RLIMIT_NOFILE, &limit) == -1)
    return MAX_CONNECTIONS;
  most = limit.rlim_cur / 4 / nr_sockets;
  return most > MAX_CONNECTIONS ? MAX_CONNECTIONS : most;
}

/* Names have no characters that need escapes, and %00 would end one early. */
static size_t
no_unescape (void *opaque, struct MHD_Connection *mhd, char *text)
{
  (void) opaque;
  (void) mhd;
  return strlen (text);
}

int
http_create (struct housekeeper *hk, const struct stats_devices *devices,
             int fd, bool read_only, unsigned nr_sockets, struct http **out)
{
  uv_loop_t *loop = housekeeper_loop (hk);
  struct http *http = calloc (1, sizeof *http);
  const union MHD_DaemonInfo *info;

  if (http == NULL) {
    close (fd);
    return -ENOMEM;
  }
  http->hk = hk;
  http->devices = *devices;
  http->read_only = read_only;
  http->daemon = MHD_start_daemon (
    MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
    max_connections (nr_sockets), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
    (size_t) CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http,
    MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
    MHD_OPTION_UNESCAPE_CALLBACK, no_unescape, NULL, MHD_OPTION_END);
  if (http->daemon == NULL) {
    close (fd);
    free (http);
    return -EIO;
  }
  info = MHD_get_daemon_info (http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == NULL || uv_poll_init (loop, &http->poll, info->epoll_fd) < 0) {
    MHD_stop_daemon (http->daemon);
    free (http);
    return -EIO;
  }
  uv_timer_init (loop, &http->timer);
  uv_timer_init (loop, &http->sweep);
  http->poll.data = http->timer.data = http->sweep.data = http;
  uv_poll_start (&http->poll, UV_READABLE, on_poll);
  uv_timer_start (&http->timer, on_timer, 0, 0);
  uv_timer_start (&http->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
  *out = http;
  return 0;
}

void
http_stop (struct http *http)
{
  struct connection *c;

  uv_close ((uv_handle_t *) &http->poll, NULL);
  uv_close ((uv_handle_t *) &http->timer, NULL);
  uv_close ((uv_handle_t *) &http->sweep, NULL);
  /* The library insists that nobody is suspended. */
  for (c = http->connections; c; c = c->next)
    if (c->deadline == 0)
      MHD_resume_connection (c->mhd);
  MHD_stop_daemon (http->daemon);
  http->daemon = NULL;
}

void
http_destroy (struct http *http)
{
  free (http);
}
