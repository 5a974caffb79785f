/* SPDX-License-Identifier: BSD-3-Clause */
/* Hostile HTTP clients; see attackers.h. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attackers.h"
#include "client.h"

#define COME_AGAIN_MS 250
#define PIECE         65536
#define MAX_EVENTS    64

struct attacker {
  int fd;          /* -1: not connected */
  uint64_t due_ms; /* when to connect, or to send the next byte */
  size_t sent;
};

struct attackers {
  enum attack attack;
  struct sockaddr_un address;
  unsigned nr;
  struct attacker *attackers; /* [nr] */
  int epoll_fd;
  char piece[PIECE]; /* what is sent over and over */
  pthread_t thread;
  _Atomic bool quiet, stop;
  _Atomic unsigned nr_open;
  _Atomic unsigned long nr_closed;
};

#define HOST " HTTP/1.1\r\nHost: localhost\r\n"

static const struct {
  const char *name;
  const char *head; /* sent first; then piece for ever, if it floods */
  bool floods, reads;
} attacks[ATTACKS] = {
  [ATTACK_STALL] = {"stall", "", false, true},
  [ATTACK_DRIBBLE] = {"dribble",
                      "GET /devices/default/mm_stat" HOST
                      "X-Long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                      false, true},
  [ATTACK_GARBAGE] = {"garbage", "", true, true},
  [ATTACK_HEADERS] = {"headers", "GET /metrics" HOST "X: ", true, true},
  [ATTACK_BIG] = {"big", "GET /devices/default/block_state" HOST "\r\n", false,
                  false},
  [ATTACK_DEAF] = {"deaf", "", true, false},
};

static const char compact_request[] =
  "PUT /devices/default/compact" HOST "Content-Length: 0\r\n\r\n";

enum attack
attack_by_name (const char *name)
{
  unsigned i;

  for (i = 0; i < ATTACKS; ++i)
    if (strcmp (attacks[i].name, name) == 0)
      return i;
  DIE ("there is no attack '%s'", name);
}

static uint64_t
now_ms (void)
{
  return now_ns () / 1000000;
}

static void
piece_fill (struct attackers *a)
{
  uint64_t rng = 1;
  size_t i, len = sizeof compact_request - 1;

  for (i = 0; i < PIECE; ++i) {
    switch (a->attack) {
    case ATTACK_GARBAGE:
      a->piece[i] = rng_next (&rng);
      break;
    case ATTACK_DEAF:
      a->piece[i] = compact_request[i % len];
      break;
    default:
      a->piece[i] = 'x';
    }
  }
}

static void
come (struct attackers *a, struct attacker *at)
{
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                              .data.ptr = at};

  at->due_ms = now_ms () + COME_AGAIN_MS;
  at->sent = 0;
  at->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (at->fd == -1)
    DIE ("socket: %s", strerror (errno));
  if (connect (at->fd, (struct sockaddr *) &a->address, sizeof a->address) ==
      -1) {
    /* The queue is full. */
    close (at->fd);
    at->fd = -1;
    return;
  }
  if (!attacks[a->attack].floods)
    event.events &= ~EPOLLOUT;
  if (!attacks[a->attack].reads)
    event.events &= ~EPOLLIN;
  if (epoll_ctl (a->epoll_fd, EPOLL_CTL_ADD, at->fd, &event) == -1)
    DIE ("epoll_ctl: %s", strerror (errno));
  atomic_fetch_add (&a->nr_open, 1);
}

static void
leave (struct attackers *a, struct attacker *at)
{
  close (at->fd);
  at->fd = -1;
  at->due_ms = now_ms () + COME_AGAIN_MS;
  atomic_fetch_sub (&a->nr_open, 1);
  atomic_fetch_add (&a->nr_closed, 1);
}

/* What to send next: the head from `sent' on, or else from the endless piece.
 */
static const char *
next_bytes (const struct attackers *a, const struct attacker *at, size_t *len)
{
  const char *head = attacks[a->attack].head;
  size_t head_len = strlen (head), from;

  if (at->sent < head_len) {
    *len = head_len - at->sent;
    return head + at->sent;
  }
  /* Whole requests, so that the piece can begin again after the last one. */
  *len = a->attack == ATTACK_DEAF
           ? PIECE / (sizeof compact_request - 1) * (sizeof compact_request - 1)
           : PIECE;
  from = (at->sent - head_len) % *len;
  *len -= from;
  return a->piece + from;
}

static void
say (struct attackers *a, struct attacker *at, size_t most)
{
  size_t len;
  const char *bytes = next_bytes (a, at, &len);
  ssize_t n = send (at->fd, bytes, len < most ? len : most, MSG_NOSIGNAL);

  if (n > 0)
    at->sent += n;
}

/* What is due by the clock: coming again, and the next byte. */
static void
on_clock (struct attackers *a, struct attacker *at)
{
  if (now_ms () < at->due_ms || a->quiet)
    return;
  if (at->fd == -1)
    come (a, at);
  else if (a->attack == ATTACK_DRIBBLE) {
    say (a, at, 1);
    at->due_ms = now_ms () + 1000;
  }
  else if (a->attack == ATTACK_BIG && at->sent == 0)
    say (a, at, SIZE_MAX);
}

static void
on_event (struct attackers *a, struct attacker *at, uint32_t events)
{
  char buf[4096];
  ssize_t n;

  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
    leave (a, at);
    return;
  }
  if (events & EPOLLIN) {
    n = recv (at->fd, buf, sizeof buf, 0);
    if (n == 0 || (n == -1 && errno != EAGAIN)) {
      leave (a, at);
      return;
    }
  }
  if (events & EPOLLOUT) {
    if (a->quiet) {
      struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = at};

      epoll_ctl (a->epoll_fd, EPOLL_CTL_MOD, at->fd, &event);
    }
    else
      say (a, at, SIZE_MAX);
  }
}

static void *
attack_main (void *arg)
{
  struct attackers *a = arg;
  struct epoll_event events[MAX_EVENTS];
  unsigned i;
  int n;

  /* What the attackers cost is not what is measured. */
  setpriority (PRIO_PROCESS, 0, 19);
  while (!a->stop) {
    for (i = 0; i < a->nr; ++i)
      on_clock (a, &a->attackers[i]);
    n = epoll_wait (a->epoll_fd, events, MAX_EVENTS, 20);
    for (i = 0; n > 0 && i < (unsigned) n; ++i)
      on_event (a, events[i].data.ptr, events[i].events);
  }
  return NULL;
}

struct attackers *
attackers_start (const char *socket_path, enum attack attack, unsigned nr)
{
  struct attackers *a = xcalloc (sizeof *a);
  unsigned i;

  a->attack = attack;
  a->nr = nr;
  a->attackers = xcalloc (nr * sizeof *a->attackers);
  for (i = 0; i < nr; ++i)
    a->attackers[i].fd = -1;
  a->address.sun_family = AF_UNIX;
  if (strlen (socket_path) >= sizeof a->address.sun_path)
    DIE ("%s: too long", socket_path);
  strcpy (a->address.sun_path, socket_path);
  a->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
  piece_fill (a);
  if (pthread_create (&a->thread, NULL, attack_main, a) != 0)
    DIE ("cannot start a thread");
  return a;
}

void
attackers_quiet (struct attackers *a)
{
  a->quiet = true;
}

unsigned
attackers_open (struct attackers *a)
{
  return a->nr_open;
}

unsigned long
attackers_closed (struct attackers *a)
{
  return a->nr_closed;
}

void
attackers_stop (struct attackers *a)
{
  unsigned i;

  a->stop = true;
  pthread_join (a->thread, NULL);
  for (i = 0; i < a->nr; ++i)
    if (a->attackers[i].fd != -1)
      close (a->attackers[i].fd);
  close (a->epoll_fd);
  free (a->attackers);
  free (a);
}
