/* SPDX-License-Identifier: BSD-3-Clause */

/* Asking the server over HTTP. */

#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "address.h"

/* Seconds that a request may take: most are answered at once, but some make
 * the server walk over all its pages.
 */
#define CTL_TIMEOUT_S      10
#define CTL_LONG_TIMEOUT_S 600

struct ctl_client;

/* Connects to nothing yet.  The address must live as long.  NULL: no memory. */
extern struct ctl_client *ctl_client_create (const struct ctl_address *address);
extern void ctl_client_destroy (struct ctl_client *client);

/* An answer, whole. */
struct ctl_reply {
  long status;  /* 200 and so on */
  bool is_text; /* the body is text/plain */
  char *body;   /* ends with a zero byte after len bytes; never NULL */
  size_t len;
};

/* Ask for path, and with a value other than NULL send that (a PUT).  path
 * begins with a slash and is escaped as in a URL.  Blocks for at most
 * timeout_s seconds, connecting for at most 3 of them.
 *
 * Returns 0 when there is an answer, whatever it says; the caller frees
 * reply->body.  Or -EIO; then the reason and what to do is in
 * ctl_client_error, and there is no reply.
 */
extern int ctl_client_request (struct ctl_client *client, const char *path,
                               const char *value, unsigned timeout_s,
                               struct ctl_reply *reply);

/* Which server it is, as unix:PATH or tcp:ADDRESS:PORT; valid as long as the
 * client.
 */
extern const char *ctl_client_server (const struct ctl_client *client);

/* Why the last request failed; valid until the next. */
extern const char *ctl_client_error (const struct ctl_client *client);

/* A part of a path, escaped; the caller frees it.  NULL: no memory. */
extern char *ctl_client_escape (struct ctl_client *client, const char *part);

#endif /* CTL_CLIENT_H */
