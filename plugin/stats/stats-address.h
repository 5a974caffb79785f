/* SPDX-License-Identifier: BSD-3-Clause */
/* Where statistics are served: unix:PATH, or tcp:HOST:PORT on loopback. */
#ifndef STATS_ADDRESS_H
#define STATS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>

struct stats_address {
  bool is_unix;
  socklen_t len;
  union {
    struct sockaddr sa;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
  };
};

/* Returns 0; or -EINVAL and in why what is wrong and what is allowed.  text may
 * be anything.
 */
int stats_address_parse (const char *text, struct stats_address *address,
                         char *why, size_t why_size);

/* A listening socket, close-on-exec and not blocking; of a unix socket with
 * this mode from the start, in place of a stale one.  Or -errno: -EADDRINUSE
 * when a server listens there.
 */
int stats_address_listen (const struct stats_address *address, unsigned mode);

/* The TCP port that a socket has got; 0 if it has none. */
unsigned stats_address_port (int fd);

/* Remove a unix socket. */
void stats_address_unlink (const struct stats_address *address);

#endif /* STATS_ADDRESS_H */
