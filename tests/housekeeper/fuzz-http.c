/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods, paths and bodies as clients send them, to the endpoint and two small
 * devices.
 *
 * libmicrohttpd is replaced by the functions below, so that no socket is
 * needed: they keep what http.c registers, and look at each answer.  An input
 * is `METHOD PATH', a newline, and the body, which arrives in pieces whose
 * length follows from its first byte.
 */
#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <microhttpd.h>

#include "fuzz.h"
#include "housekeeper.h"
#include "http.h"
#include "stats.h"

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

#define NR_DEVICES 2
#define DISK_BYTES (64 * 4096)

/* --- The library's part. */

struct MHD_Daemon {
  MHD_AccessHandlerCallback handler;
  void *handler_cls;
  MHD_RequestCompletedCallback completed;
  void *completed_cls;
  MHD_NotifyConnectionCallback notify;
  void *notify_cls;
  int listen_fd, epoll_fd;
};

struct MHD_Connection {
  void *context;
  bool is_suspended;
  unsigned nr_answers;
  unsigned status;
  bool has_allow;
};

struct MHD_Response {
  size_t len;
  char *text;
  bool has_allow, has_type;
};

static struct MHD_Daemon the_daemon;

struct MHD_Daemon *
MHD_start_daemon (unsigned flags, uint16_t port, MHD_AcceptPolicyCallback apc,
                  void *apc_cls, MHD_AccessHandlerCallback handler,
                  void *handler_cls, ...)
{
  struct MHD_Daemon *d = &the_daemon;
  enum MHD_OPTION option;
  va_list args;

  (void) flags;
  (void) port;
  (void) apc;
  (void) apc_cls;
  d->handler = handler;
  d->handler_cls = handler_cls;
  va_start (args, handler_cls);
  while ((option = va_arg (args, enum MHD_OPTION)) != MHD_OPTION_END) {
    switch (option) {
    case MHD_OPTION_LISTEN_SOCKET:
      d->listen_fd = va_arg (args, int);
      break;
    case MHD_OPTION_NOTIFY_COMPLETED:
      d->completed = va_arg (args, MHD_RequestCompletedCallback);
      d->completed_cls = va_arg (args, void *);
      break;
    case MHD_OPTION_NOTIFY_CONNECTION:
      d->notify = va_arg (args, MHD_NotifyConnectionCallback);
      d->notify_cls = va_arg (args, void *);
      break;
    case MHD_OPTION_CONNECTION_MEMORY_LIMIT:
      (void) va_arg (args, size_t);
      break;
    default: /* all the others that http.c uses take a number */
      (void) va_arg (args, unsigned);
    }
  }
  va_end (args);
  d->epoll_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  return d;
}

void
MHD_stop_daemon (struct MHD_Daemon *d)
{
  close (d->epoll_fd);
}

enum MHD_Result
MHD_run (struct MHD_Daemon *d)
{
  (void) d;
  return MHD_YES;
}

enum MHD_Result
MHD_get_timeout (struct MHD_Daemon *d, MHD_UNSIGNED_LONG_LONG *ms)
{
  (void) d;
  (void) ms;
  return MHD_NO;
}

const union MHD_DaemonInfo *
MHD_get_daemon_info (struct MHD_Daemon *d, enum MHD_DaemonInfoType type, ...)
{
  static union MHD_DaemonInfo info;

  MUST (type == MHD_DAEMON_INFO_EPOLL_FD);
  info.epoll_fd = d->epoll_fd;
  return &info;
}

const union MHD_ConnectionInfo *
MHD_get_connection_info (struct MHD_Connection *c,
                         enum MHD_ConnectionInfoType type, ...)
{
  static union MHD_ConnectionInfo info;

  MUST (type == MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  info.socket_context = c->context;
  return &info;
}

const char *
MHD_lookup_connection_value (struct MHD_Connection *c, enum MHD_ValueKind kind,
                             const char *key)
{
  (void) c;
  MUST (kind == MHD_HEADER_KIND && strcmp (key, "Accept") == 0);
  return "application/openmetrics-text";
}

void
MHD_suspend_connection (struct MHD_Connection *c)
{
  MUST (!c->is_suspended);
  c->is_suspended = true;
}

void
MHD_resume_connection (struct MHD_Connection *c)
{
  MUST (c->is_suspended);
  c->is_suspended = false;
}

struct MHD_Response *
MHD_create_response_from_buffer (size_t len, void *text,
                                 enum MHD_ResponseMemoryMode mode)
{
  struct MHD_Response *r = calloc (1, sizeof *r);

  MUST (r != NULL && mode == MHD_RESPMEM_MUST_FREE);
  r->len = len;
  r->text = text;
  return r;
}

/* A long answer, which is read to its end at once. */
struct MHD_Response *
MHD_create_response_from_callback (uint64_t size, size_t block,
                                   MHD_ContentReaderCallback read, void *cls,
                                   MHD_ContentReaderFreeCallback free_cls)
{
  size_t len = 0, room = 1 << 20;
  char *text = malloc (room);
  ssize_t n;

  MUST (text != NULL && size == MHD_SIZE_UNKNOWN);
  while ((n = read (cls, len, text + len, block)) > 0) {
    len += n;
    MUST (len + block < room);
  }
  MUST (n == MHD_CONTENT_READER_END_OF_STREAM);
  if (free_cls)
    free_cls (cls);
  text[len] = '\0';
  return MHD_create_response_from_buffer (len, text, MHD_RESPMEM_MUST_FREE);
}

enum MHD_Result
MHD_add_response_header (struct MHD_Response *r, const char *name,
                         const char *value)
{
  MUST (strpbrk (value, "\r\n") == NULL);
  r->has_allow = r->has_allow || strcmp (name, "Allow") == 0;
  r->has_type = r->has_type || strcmp (name, "Content-Type") == 0;
  return MHD_YES;
}

/* Every refusal is a sentence of one line, and says why. */
enum MHD_Result
MHD_queue_response (struct MHD_Connection *c, unsigned status,
                    struct MHD_Response *r)
{
  c->nr_answers++;
  c->status = status;
  MUST (r->has_type && strlen (r->text) == r->len);
  switch (status) {
  case MHD_HTTP_OK:
    MUST (r->len == 0 || r->text[r->len - 1] == '\n');
    break;
  case MHD_HTTP_METHOD_NOT_ALLOWED:
    MUST (r->has_allow);
    /* fall through */
  case MHD_HTTP_BAD_REQUEST:
  case MHD_HTTP_NOT_FOUND:
  case MHD_HTTP_CONFLICT:
  case MHD_HTTP_CONTENT_TOO_LARGE:
    MUST (r->len > 10 && strchr (r->text, '\n') == r->text + r->len - 1);
    break;
  default:
    abort ();
  }
  return MHD_YES;
}

void
MHD_destroy_response (struct MHD_Response *r)
{
  free (r->text);
  free (r);
}

/* --- The server: made once. */

static struct store *stores[NR_DEVICES];
static unsigned nr_clients[NR_DEVICES] = {0, 1};
static struct housekeeper *hk;
static struct http *http;

static size_t
devices_nr (void *opaque)
{
  (void) opaque;
  return NR_DEVICES;
}

static struct store *
device_store (void *opaque, size_t i)
{
  (void) opaque;
  return stores[i];
}

static int
reset_begin (void *opaque)
{
  (void) opaque;
  return 0;
}

static void
reset_end (void *opaque)
{
  (void) opaque;
}

static struct stats_device
device_get (void *opaque, size_t i)
{
  (void) opaque;
  return (struct stats_device){
    .name = i ? "vm.1" : "default",
    .store = stores[i],
    .comp_algorithm = "lz4",
    .level = 1,
    .nr_clients = nr_clients[i],
    .reset_begin = reset_begin,
    .reset_end = reset_end,
    .opaque = stores[i],
  };
}

static void
device_warn (void *opaque, size_t i, unsigned percent)
{
  (void) opaque;
  (void) i;
  (void) percent;
}

static void
server_make (void)
{
  static const struct housekeeper_devices for_hk = {
    .nr = devices_nr, .store = device_store, .warn = device_warn};
  static const struct stats_devices for_stats = {.nr = devices_nr,
                                                 .get = device_get};
  struct store_config config = {
    .name = "fuzz", .disksize = DISK_BYTES, .chain_size = 8};
  size_t i;

  MUST (codec_pool_create (CODEC_LZ4, 1, 0, &config.codec) == 0);
  for (i = 0; i < NR_DEVICES; ++i)
    MUST (store_create (&config, &stores[i]) == 0);
  MUST (housekeeper_create (0, &for_hk, &hk) == 0);
  MUST (http_create (hk, &for_stats, -1, false, 1, &http) == 0);
}

/* Some pages for the attributes to tell of, if the last reset took them. */
static void
devices_fill (void)
{
  char page[4096];
  uint64_t i;
  size_t d, at;

  for (d = 0; d < NR_DEVICES; ++d) {
    store_set_mem_limit (stores[d], 0);
    for (i = 0; i < 8; ++i) {
      for (at = 0; at < sizeof page; ++at)
        page[at] = at % 97 * i;
      MUST (store_write (stores[d], page, sizeof page, i * 2 * 4096) == 0);
    }
  }
}

/* --- A request. */

/* The body, in pieces. */
static void
send_body (struct MHD_Connection *c, void **state, const char *url,
           const char *method, const char *body, size_t len)
{
  size_t step = len ? (unsigned char) body[0] + 1 : 1, n;

  while (len > 0) {
    size_t left = n = len < step ? len : step;

    MUST (the_daemon.handler (the_daemon.handler_cls, c, url, method,
                              "HTTP/1.1", body, &left, state) == MHD_YES);
    MUST (left == 0 && c->nr_answers == 0);
    body += n;
    len -= n;
  }
}

static void
request (const char *method, const char *url, const char *body, size_t len)
{
  struct MHD_Connection c = {0};
  void *state = NULL;
  size_t zero = 0;

  the_daemon.notify (the_daemon.notify_cls, &c, &c.context,
                     MHD_CONNECTION_NOTIFY_STARTED);
  MUST (c.context != NULL);
  MUST (the_daemon.handler (the_daemon.handler_cls, &c, url, method, "HTTP/1.1",
                            NULL, &zero, &state) == MHD_YES);
  send_body (&c, &state, url, method, body, len);
  MUST (the_daemon.handler (the_daemon.handler_cls, &c, url, method, "HTTP/1.1",
                            NULL, &zero, &state) == MHD_YES);
  /* Compaction: the loop answers it. */
  for (; c.is_suspended; uv_run (housekeeper_loop (hk), UV_RUN_NOWAIT))
    MUST (c.nr_answers == 0);
  if (c.nr_answers == 0)
    MUST (the_daemon.handler (the_daemon.handler_cls, &c, url, method,
                              "HTTP/1.1", NULL, &zero, &state) == MHD_YES);
  MUST (c.nr_answers == 1);
  if (strcmp (method, "GET") != 0 && strcmp (method, "HEAD") != 0 &&
      strcmp (method, "PUT") != 0)
    MUST (c.status == MHD_HTTP_METHOD_NOT_ALLOWED);
  the_daemon.completed (the_daemon.completed_cls, &c, &state,
                        MHD_REQUEST_TERMINATED_COMPLETED_OK);
  the_daemon.notify (the_daemon.notify_cls, &c, &c.context,
                     MHD_CONNECTION_NOTIFY_CLOSED);
  MUST (c.context == NULL && state == NULL);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const uint8_t *newline = memchr (data, '\n', size);
  size_t head_len = newline ? (size_t) (newline - data) : size;
  char *head = malloc (head_len + 1), *url;

  MUST (head != NULL);
  if (hk == NULL)
    server_make ();
  devices_fill ();
  memcpy (head, data, head_len);
  head[head_len] = '\0';
  url = strchr (head, ' ');
  if (url) {
    size_t body_len = newline ? size - head_len - 1 : 0;

    *url++ = '\0';
    request (head, url, body_len ? (const char *) newline + 1 : "", body_len);
  }
  free (head);
  return 0;
}
