/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the HTTP side: libcurl, how long to wait, and what to say when there
 * is no answer.
 *
 * An answer is kept until it is complete, so that no part of one is ever
 * shown as if it were all.  What the environment says of proxies does not
 * matter here: the server is local.
 */

#include <config.h>

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <curl/curl.h>

#include "client.h"

#define CONNECT_TIMEOUT_S 3

/* The block_state of a device of 100 GiB. */
#define MAX_BODY_BYTES ((size_t) 1 << 30)

struct ctl_client {
  const struct ctl_address *address;
  CURL *curl;
  char server[8 + sizeof ((struct ctl_address *) NULL)->path];
  char curl_error[CURL_ERROR_SIZE];
  char error[1024];
};

struct ctl_client *
ctl_client_create (const struct ctl_address *address)
{
  struct ctl_client *client;

  if (curl_global_init (CURL_GLOBAL_DEFAULT) != 0)
    return NULL;
  client = calloc (1, sizeof *client);
  if (client == NULL)
    return NULL;
  client->address = address;
  snprintf (client->server, sizeof client->server, "%s%s",
            address->is_unix ? "unix:" : "tcp:",
            address->is_unix ? address->path : address->host);
  client->curl = curl_easy_init ();
  if (client->curl == NULL) {
    free (client);
    return NULL;
  }
  return client;
}

void
ctl_client_destroy (struct ctl_client *client)
{
  if (client == NULL)
    return;
  curl_easy_cleanup (client->curl);
  curl_global_cleanup ();
  free (client);
}

const char *
ctl_client_server (const struct ctl_client *client)
{
  return client->server;
}

const char *
ctl_client_error (const struct ctl_client *client)
{
  return client->error;
}

char *
ctl_client_escape (struct ctl_client *client, const char *part)
{
  char *escaped = curl_easy_escape (client->curl, part, 0);
  char *copy = escaped != NULL ? strdup (escaped) : NULL;

  curl_free (escaped);
  return copy;
}

static int fail (struct ctl_client *client, const char *fs, ...)
  __attribute__ ((format (printf, 2, 3)));

/* Say which server, and what is the matter with it. */
static int
fail (struct ctl_client *client, const char *fs, ...)
{
  va_list args;
  int n;

  n = snprintf (client->error, sizeof client->error, "%s: ", client->server);
  va_start (args, fs);
  vsnprintf (client->error + n, sizeof client->error - (size_t) n, fs, args);
  va_end (args);
  return -EIO;
}

static int
fail_not_permitted (struct ctl_client *client)
{
  const char *path = client->address->path;
  const struct passwd *owner;
  struct stat st;

  if (stat (path, &st) == -1)
    return fail (client,
                 "cannot connect: %s; a folder on the way to it is closed to "
                 "this user: try as root",
                 strerror (EACCES));
  owner = getpwuid (st.st_uid);
  return fail (client,
               "cannot connect: %s; the socket has mode %04o and belongs to "
               "%s: be that user or root, or start the server with another "
               "stats_mode=",
               strerror (EACCES), (unsigned) st.st_mode & 07777,
               owner != NULL ? owner->pw_name : "an unknown user");
}

static int
fail_connect (struct ctl_client *client)
{
  const struct ctl_address *a = client->address;
  long err = 0;

  curl_easy_getinfo (client->curl, CURLINFO_OS_ERRNO, &err);
  /* libcurl names no reason for these two. */
  if (err == 0)
    return fail (client,
                 "cannot connect: the server is too busy, or of another kind");
  if (err == EACCES && a->is_unix)
    return fail_not_permitted (client);
  return fail (client,
               "cannot connect: %s; is the server running, and was it started "
               "with stats=%s?",
               strerror ((int) err), client->server);
}

static int
fail_curl (struct ctl_client *client, CURLcode code, const char *value,
           unsigned timeout_s)
{
  double connected_s = 0;

  switch (code) {
  case CURLE_COULDNT_CONNECT:
    return fail_connect (client);
  case CURLE_OPERATION_TIMEDOUT:
    curl_easy_getinfo (client->curl, CURLINFO_CONNECT_TIME, &connected_s);
    return fail (client, "no answer within %u seconds%s",
                 connected_s > 0 ? timeout_s : CONNECT_TIMEOUT_S,
                 value != NULL && connected_s > 0
                   ? "; what was asked may be done nevertheless"
                   : "");
  case CURLE_OUT_OF_MEMORY:
    return fail (client, "%s", strerror (ENOMEM));
  case CURLE_WRITE_ERROR:
    return fail (client, "the answer does not fit into memory, or has more "
                         "than 1 GiB");
  case CURLE_PARTIAL_FILE:
  case CURLE_GOT_NOTHING:
  case CURLE_RECV_ERROR:
  case CURLE_SEND_ERROR:
    return fail (client, "the server ended the connection before its answer "
                         "was complete");
  default:
    return fail (client, "this is no server of zspage's statistics: %s",
                 client->curl_error[0] != '\0' ? client->curl_error
                                               : curl_easy_strerror (code));
  }
}

/* Called by libcurl with each part of a body; anything but the length of that
 * part ends the request.
 */
static size_t
take_body (char *data, size_t size, size_t nmemb, void *opaque)
{
  FILE *body = opaque;
  const size_t len = size * nmemb;

  if (len > MAX_BODY_BYTES - (size_t) ftello (body))
    return 0;
  return fwrite (data, 1, len, body);
}

static void
set_address (struct ctl_client *client)
{
  const struct ctl_address *a = client->address;

  if (a->is_unix)
    curl_easy_setopt (client->curl, CURLOPT_UNIX_SOCKET_PATH, a->path);
  curl_easy_setopt (client->curl, CURLOPT_PROXY, "");
  curl_easy_setopt (client->curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt (client->curl, CURLOPT_PROTOCOLS_STR, "http");
}

/* Let libcurl do it, into body. */
static CURLcode
perform (struct ctl_client *client, const char *url, const char *value,
         unsigned timeout_s, FILE *body)
{
  struct curl_slist *headers = NULL;
  CURL *curl = client->curl;
  CURLcode code;

  /* Forgets the options of the last request, but not the connection. */
  curl_easy_reset (curl);
  client->curl_error[0] = '\0';
  set_address (client);
  curl_easy_setopt (curl, CURLOPT_URL, url);
  /* Devices may be called "..". */
  curl_easy_setopt (curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt (curl, CURLOPT_ERRORBUFFER, client->curl_error);
  curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt (curl, CURLOPT_CONNECTTIMEOUT, (long) CONNECT_TIMEOUT_S);
  curl_easy_setopt (curl, CURLOPT_TIMEOUT, (long) timeout_s);
  curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt (curl, CURLOPT_WRITEDATA, body);
  if (value != NULL) {
    headers = curl_slist_append (NULL, "Content-Type: text/plain");
    if (headers == NULL)
      return CURLE_OUT_OF_MEMORY;
    curl_easy_setopt (curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt (curl, CURLOPT_CUSTOMREQUEST, "PUT");
    curl_easy_setopt (curl, CURLOPT_POSTFIELDS, value);
  }
  code = curl_easy_perform (curl);
  curl_slist_free_all (headers);
  return code;
}

int
ctl_client_request (struct ctl_client *client, const char *path,
                    const char *value, unsigned timeout_s,
                    struct ctl_reply *reply)
{
  const struct ctl_address *a = client->address;
  const char *type = NULL;
  CURLcode code;
  FILE *body;
  char *url;

  memset (reply, 0, sizeof *reply);
  if (asprintf (&url, "http://%s%s", a->is_unix ? "localhost" : a->host,
                path) == -1)
    return fail (client, "%s", strerror (ENOMEM));
  body = open_memstream (&reply->body, &reply->len);
  if (body == NULL) {
    free (url);
    return fail (client, "%s", strerror (ENOMEM));
  }
  code = perform (client, url, value, timeout_s, body);
  free (url);
  if (fclose (body) == EOF && code == CURLE_OK)
    code = CURLE_OUT_OF_MEMORY;
  if (code != CURLE_OK) {
    free (reply->body);
    return fail_curl (client, code, value, timeout_s);
  }
  curl_easy_getinfo (client->curl, CURLINFO_RESPONSE_CODE, &reply->status);
  curl_easy_getinfo (client->curl, CURLINFO_CONTENT_TYPE, &type);
  reply->is_text = type != NULL && strncasecmp (type, "text/plain", 10) == 0;
  return 0;
}
