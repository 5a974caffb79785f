/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the parsing of --socket. */

#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "args.h"

static int
parse_unix (const char *path, struct ctl_address *a, const char **why)
{
  a->is_unix = true;
  if (path[0] == '\0')
    *why = "the path is empty";
  else if (strlen (path) >= sizeof a->path)
    *why = "the path is too long for a socket: more than 107 bytes";
  else {
    strcpy (a->path, path);
    return 0;
  }
  return -EINVAL;
}

static bool
is_ip_address (const char *host)
{
  unsigned char addr[sizeof (struct in6_addr)];
  size_t len = strlen (host);
  char bare[64];

  if (host[0] != '[')
    return inet_pton (AF_INET, host, addr) == 1;
  if (host[len - 1] != ']')
    return false;
  memcpy (bare, host + 1, len - 2);
  bare[len - 2] = '\0';
  return inet_pton (AF_INET6, bare, addr) == 1;
}

static int
parse_tcp (const char *text, struct ctl_address *a, const char **why)
{
  const char *colon = strrchr (text, ':');
  char host[sizeof a->host - sizeof ":65535"];
  uint64_t port;
  size_t len;

  *why = "must be tcp:127.0.0.1:PORT or tcp:[::1]:PORT, with an address of "
         "digits";
  a->is_unix = false;
  len = colon != NULL ? (size_t) (colon - text) : 0;
  if (len == 0 || len >= sizeof host)
    return -EINVAL;
  memcpy (host, text, len);
  host[len] = '\0';
  if (!is_ip_address (host) ||
      ctl_parse_decimal (colon + 1, 65535, &port) < 0 || port == 0)
    return -EINVAL;
  snprintf (a->host, sizeof a->host, "%s:%u", host, (unsigned) port);
  return 0;
}

int
ctl_address_parse (const char *text, struct ctl_address *address,
                   const char **why)
{
  if (strncmp (text, "unix:", 5) == 0)
    return parse_unix (text + 5, address, why);
  if (strncmp (text, "tcp:", 4) == 0)
    return parse_tcp (text + 4, address, why);
  return parse_unix (text, address, why);
}
