/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing where to listen, and listening; see stats-address.h. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stats-address.h"

static int
parse_port (const char *text, in_port_t *port)
{
  char *end;
  unsigned long n;

  if (*text < '0' || *text > '9')
    return -EINVAL;
  n = strtoul (text, &end, 10);
  if (*end != '\0' || n > 65535)
    return -EINVAL;
  *port = htons (n);
  return 0;
}

/* HOST:PORT, where HOST is 127.x.x.x or [::1]. */
static int
parse_tcp (const char *text, struct stats_address *a)
{
  const char *colon = strrchr (text, ':');
  char host[64];
  size_t len;

  if (colon == NULL || (len = colon - text) >= sizeof host)
    return -EINVAL;
  memcpy (host, text, len);
  host[len] = '\0';
  if (strcmp (host, "[::1]") == 0) {
    a->in6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                   .sin6_addr = in6addr_loopback};
    a->len = sizeof a->in6;
    return parse_port (colon + 1, &a->in6.sin6_port);
  }
  a->in = (struct sockaddr_in){.sin_family = AF_INET};
  a->len = sizeof a->in;
  if (inet_pton (AF_INET, host, &a->in.sin_addr) != 1 ||
      ntohl (a->in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
    return -EINVAL;
  return parse_port (colon + 1, &a->in.sin_port);
}

int
stats_address_parse (const char *text, struct stats_address *a, char *why,
                     size_t why_size)
{
  memset (a, 0, sizeof *a);
  if (strncmp (text, "unix:", 5) == 0) {
    size_t len = strlen (text + 5);

    if (text[5] != '/' || len >= sizeof a->un.sun_path) {
      snprintf (why, why_size,
                "the path must begin with / and have less than %zu bytes",
                sizeof a->un.sun_path);
      return -EINVAL;
    }
    a->is_unix = true;
    a->un.sun_family = AF_UNIX;
    memcpy (a->un.sun_path, text + 5, len + 1);
    a->len = sizeof a->un;
    return 0;
  }
  if (strncmp (text, "tcp:", 4) == 0 && parse_tcp (text + 4, a) == 0)
    return 0;
  snprintf (why, why_size,
            "must be unix:PATH, tcp:127.0.0.1:PORT or tcp:[::1]:PORT");
  return -EINVAL;
}

/* Whether something is at the path that is not a socket in use. */
static int
remove_stale (const struct stats_address *a)
{
  struct stat st;
  int fd, r = 0;

  if (lstat (a->un.sun_path, &st) == -1)
    return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK (st.st_mode))
    return -EEXIST;
  fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd == -1)
    return -errno;
  if (connect (fd, &a->sa, a->len) == 0 || errno == EAGAIN)
    r = -EADDRINUSE;
  else if (errno == ECONNREFUSED && unlink (a->un.sun_path) == -1)
    r = -errno;
  close (fd);
  return r;
}

int
stats_address_listen (const struct stats_address *a, unsigned mode)
{
  const int one = 1;
  mode_t old = 0;
  int fd, r;

  if (a->is_unix) {
    r = remove_stale (a);
    if (r < 0)
      return r;
  }
  fd = socket (a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd == -1)
    return -errno;
  if (a->is_unix)
    old = umask (~mode & 0777);
  else
    setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  r = bind (fd, &a->sa, a->len) == -1 ? -errno : 0;
  if (a->is_unix)
    umask (old);
  if (r == 0 && listen (fd, SOMAXCONN) == -1)
    r = -errno;
  if (r < 0) {
    close (fd);
    return r;
  }
  return fd;
}

unsigned
stats_address_port (int fd)
{
  struct stats_address a = {.len = sizeof a.in6};

  if (getsockname (fd, &a.sa, &a.len) == -1)
    return 0;
  switch (a.sa.sa_family) {
  case AF_INET:
    return ntohs (a.in.sin_port);
  case AF_INET6:
    return ntohs (a.in6.sin6_port);
  default:
    return 0;
  }
}

void
stats_address_unlink (const struct stats_address *a)
{
  if (a->is_unix)
    unlink (a->un.sun_path);
}
