/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may open a device: allow_uid, allow_gid and exclusive.
 *
 * Two guests that swap on one device destroy each other, so an exclusive
 * device takes several connections only of one peer: a process, on a unix
 * socket; else an address.
 */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "access.h"

/* How long a client waits for the reset of its device. */
#define RESET_SECONDS 10

bool
access_is_allowed (const struct device_config *c)
{
  int64_t id;
  unsigned i;

  if (c->nr_allow_uid == 0 && c->nr_allow_gid == 0)
    return true;
  if (c->nr_allow_uid) {
    id = nbdkit_peer_uid ();
    for (i = 0; id >= 0 && i < c->nr_allow_uid; ++i)
      if (id == (int64_t) c->allow_uid[i])
        return true;
  }
  if (c->nr_allow_gid) {
    id = nbdkit_peer_gid ();
    for (i = 0; id >= 0 && i < c->nr_allow_gid; ++i)
      if (id == (int64_t) c->allow_gid[i])
        return true;
  }
  return false;
}

/* Who is at the other end: a process or an address. */
static void
peer_describe (char *buf, size_t size)
{
  struct sockaddr_storage addr;
  socklen_t len = sizeof addr;
  const unsigned char *ip;
  size_t i, n, ip_len;
  int64_t pid;

  buf[0] = '\0';
  if (nbdkit_peer_name ((struct sockaddr *) &addr, &len) == -1)
    return;
  switch (addr.ss_family) {
  case AF_INET:
    ip = (void *) &((struct sockaddr_in *) &addr)->sin_addr;
    ip_len = sizeof (struct in_addr);
    break;
  case AF_INET6:
    ip = (void *) &((struct sockaddr_in6 *) &addr)->sin6_addr;
    ip_len = sizeof (struct in6_addr);
    break;
  default:
    /* Not a unix socket, or a process that this PID namespace does not have. */
    pid = addr.ss_family == AF_UNIX ? nbdkit_peer_pid () : -1;
    if (pid > 0)
      snprintf (buf, size, "process %lld", (long long) pid);
    return;
  }
  n = snprintf (buf, size, "address ");
  for (i = 0; i < ip_len && n + 4 < size; ++i)
    n += snprintf (buf + n, size - n, ip_len == 4 ? "%s%u" : "%s%02x",
                   i == 0        ? ""
                   : ip_len == 4 ? "."
                   : i % 2 == 0  ? ":"
                                 : "",
                   ip[i]);
}

void
access_refuse (const char *device, const char *consequence)
{
  int64_t uid = nbdkit_peer_uid (), gid = nbdkit_peer_gid ();

  if (uid >= 0)
    nbdkit_error ("device %s: the client, of uid %lld and gid %lld, is not "
                  "among allow_uid or allow_gid%s",
                  device, (long long) uid, (long long) gid, consequence);
  else
    nbdkit_error ("device %s: the client is not on a unix socket, so it is "
                  "not among allow_uid or allow_gid%s",
                  device, consequence);
  nbdkit_set_error (EACCES);
}

int
access_look (struct device *device)
{
  if (access_is_allowed (&device->config))
    return 0;
  access_refuse (device->config.name, "");
  return -1;
}

/* Wait for a reset to end; false if that takes too long. */
static bool
reset_wait_locked (struct device *device)
{
  struct timespec until;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += RESET_SECONDS;
  while (device->is_resetting)
    if (pthread_cond_timedwait (&device->reset_ended, &device->clients_lock,
                                &until) != 0)
      return !device->is_resetting;
  return true;
}

int
access_attach (struct device *device)
{
  char peer[sizeof device->peer];
  bool is_busy = false;

  if (access_look (device) == -1)
    return -1;
  if (device->config.exclusive)
    peer_describe (peer, sizeof peer);

  pthread_mutex_lock (&device->clients_lock);
  if (!reset_wait_locked (device)) {
    pthread_mutex_unlock (&device->clients_lock);
    nbdkit_error ("device %s is being reset", device->config.name);
    nbdkit_set_error (EBUSY);
    return -1;
  }
  if (device->config.exclusive) {
    /* Who is not known is not the same as anybody. */
    is_busy = device->nr_clients > 0 &&
              (peer[0] == '\0' || strcmp (device->peer, peer) != 0);
    if (is_busy)
      strcpy (peer, device->peer);
    else
      strcpy (device->peer, peer);
  }
  if (!is_busy)
    device->nr_clients++;
  pthread_mutex_unlock (&device->clients_lock);

  if (is_busy) {
    nbdkit_error ("device %s is exclusive and in use by %s",
                  device->config.name, peer[0] ? peer : "a client");
    nbdkit_set_error (EBUSY);
    return -1;
  }
  return 0;
}

void
access_detach (struct device *device)
{
  pthread_mutex_lock (&device->clients_lock);
  device->nr_clients--;
  /* Not when somebody just looked: the owner may be on the way back. */
  if (device->nr_clients == 0 && device->config.reset_on_disconnect &&
      atomic_exchange (&device->is_written, false))
    store_reset (device->store);
  pthread_mutex_unlock (&device->clients_lock);
}
