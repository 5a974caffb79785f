/* SPDX-License-Identifier: BSD-3-Clause */
/* http-abuse SOCKET URI PID SECONDS CLIENTS PATIENCE ATTACK...
 *
 * Attack the statistics socket of the server of that PID, one attack after the
 * other, while block I/O goes on by URI and a good client asks something every
 * now and then.  For each attack print, and compare with generous bounds:
 *
 *   requests a second of block I/O before it and during it;
 *   the slowest good answer, in ms;
 *   how much anonymous memory of the server grew, at most, in MB.
 *
 * PATIENCE is how many times slower than usual all of that may be.  In the end
 * all connections must be closed by the server's deadline, and it must have as
 * few descriptors as before.
 */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attackers.h"
#include "client.h"

#define IO_BYTES         (16 * MIB)
#define BEFORE_SECONDS   1.0
#define MIN_IO_RATIO     0.5
#define MAX_ANSWER_MS    1000.0
#define MAX_GROWTH_BYTES (30 * MIB)
/* 5 s, and the time until the server notices. */
#define CLOSED_SECONDS 7.0
#define TRIES          3
#define PROBE_EVERY_MS 100

static const char *socket_path, *pid;
static double patience;

/* --- Block I/O. */

static _Atomic unsigned long nr_requests;
static _Atomic bool io_stop;

static void *
io_main (void *uri)
{
  struct nbd_handle *nbd = client_connect (uri);
  struct data data = {DATA_TEXT, 1};
  uint8_t page[PAGE], want[PAGE];
  uint64_t rng = 1;

  while (!io_stop) {
    uint64_t offset = rng_below (&rng, IO_BYTES / PAGE) * PAGE;

    data_make (&data, want, offset, PAGE);
    NBD (nbd_pwrite (nbd, want, PAGE, offset, 0));
    NBD (nbd_pread (nbd, page, PAGE, offset, 0));
    data_compare (page, want, PAGE, offset, "block I/O");
    atomic_fetch_add (&nr_requests, 2);
  }
  client_close (nbd);
  return NULL;
}

/* --- What the server uses. */

static uint64_t
anonymous_bytes (void)
{
  char path[64], line[256];
  unsigned long long kib = 0;
  FILE *fp;

  snprintf (path, sizeof path, "/proc/%s/status", pid);
  fp = fopen (path, "r");
  if (fp == NULL)
    DIE ("%s: %s", path, strerror (errno));
  while (fgets (line, sizeof line, fp))
    if (sscanf (line, "RssAnon: %llu", &kib) == 1)
      break;
  fclose (fp);
  return kib * KIB;
}

static unsigned
descriptors (void)
{
  char path[64];
  unsigned n = 0;
  DIR *dir;

  snprintf (path, sizeof path, "/proc/%s/fd", pid);
  dir = opendir (path);
  if (dir == NULL)
    DIE ("%s: %s", path, strerror (errno));
  while (readdir (dir))
    n++;
  closedir (dir);
  return n;
}

/* --- A good client. */

/* Milliseconds for an answer, from before connecting to its end. */
static double
probe (void)
{
  static const char request[] = "GET /devices/default/mm_stat HTTP/1.1\r\n"
                                "Host: localhost\r\nConnection: close\r\n\r\n";
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct timeval timeout = {.tv_sec = 30};
  uint64_t start = now_ns ();
  char answer[1024];
  size_t len = 0;
  ssize_t n;
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  strcpy (address.sun_path, socket_path);
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (fd == -1 ||
      connect (fd, (struct sockaddr *) &address, sizeof address) == -1 ||
      send (fd, request, sizeof request - 1, MSG_NOSIGNAL) !=
        sizeof request - 1)
    DIE ("a good client cannot ask: %s", strerror (errno));
  while (len < sizeof answer - 1 &&
         (n = recv (fd, answer + len, sizeof answer - 1 - len, 0)) > 0)
    len += n;
  answer[len] = '\0';
  close (fd);
  if (strncmp (answer, "HTTP/1.1 200 ", 13) != 0)
    DIE ("a good client got no good answer: '%s'", answer);
  return (now_ns () - start) / 1e6;
}

static void
sleep_ms (unsigned ms)
{
  struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

  nanosleep (&ts, NULL);
}

static double
seconds_since (uint64_t start)
{
  return (now_ns () - start) / 1e9;
}

struct figures {
  double requests_s, slowest_ms;
  uint64_t bytes; /* the most anonymous memory seen */
};

static struct figures
measure (double seconds)
{
  struct figures f = {0};
  unsigned long before = nr_requests;
  uint64_t start = now_ns ();

  while (seconds_since (start) < seconds) {
    double ms = probe ();
    uint64_t bytes = anonymous_bytes ();

    if (ms > f.slowest_ms)
      f.slowest_ms = ms;
    if (bytes > f.bytes)
      f.bytes = bytes;
    sleep_ms (PROBE_EVERY_MS);
  }
  f.requests_s = (nr_requests - before) / seconds_since (start);
  return f;
}

/* Whether the figures are within the bounds; says what is not. */
static bool
is_well (const char *name, const struct figures *before,
         const struct figures *during)
{
  if (during->requests_s < before->requests_s * MIN_IO_RATIO / patience)
    printf ("%s: block I/O became too slow\n", name);
  else if (during->slowest_ms > MAX_ANSWER_MS * patience)
    printf ("%s: a good client waited too long\n", name);
  else
    return true;
  return false;
}

/* Attack, and leave the connections open.  The machine may have been busy with
 * something else just then, so there are several tries.
 */
static struct attackers *
attack (const char *name, unsigned nr, double seconds)
{
  struct figures before, during;
  struct attackers *a;
  double growth;
  int i;

  for (i = 0; i < TRIES; ++i) {
    before = measure (BEFORE_SECONDS);
    a = attackers_start (socket_path, attack_by_name (name), nr);
    during = measure (seconds);
    attackers_quiet (a);
    growth = during.bytes > before.bytes ? during.bytes - before.bytes : 0;
    printf ("%-8s %6.0f requests/s before, %6.0f during (%.2f); "
            "slowest answer %.1f ms; memory grew %.1f MB; %u open, "
            "%lu closed\n",
            name, before.requests_s, during.requests_s,
            during.requests_s / before.requests_s, during.slowest_ms,
            growth / MIB, attackers_open (a), attackers_closed (a));
    fflush (stdout);
    if (growth > MAX_GROWTH_BYTES * patience)
      DIE ("%s: the server took too much memory", name);
    if (is_well (name, &before, &during))
      return a;
    attackers_stop (a);
  }
  DIE ("%s: %d times it was not well", name, TRIES);
}

static unsigned
all_open (struct attackers **a, int n)
{
  unsigned open = 0;
  int i;

  for (i = 0; i < n; ++i)
    open += attackers_open (a[i]);
  return open;
}

int
main (int argc, char *argv[])
{
  struct attackers **a;
  unsigned fds, nr;
  uint64_t start;
  double seconds;
  pthread_t io;
  int i, nr_attacks = argc - 7;

  if (nr_attacks < 1)
    DIE ("usage: http-abuse SOCKET URI PID SECONDS CLIENTS PATIENCE ATTACK...");
  socket_path = argv[1];
  pid = argv[3];
  seconds = parse_number (argv[4]);
  nr = parse_number (argv[5]);
  patience = parse_number (argv[6]);
  a = xcalloc (nr_attacks * sizeof *a);
  if (pthread_create (&io, NULL, io_main, argv[2]) != 0)
    DIE ("cannot start a thread");
  while (nr_requests < 10000 / patience)
    sleep_ms (10);
  fds = descriptors ();

  for (i = 0; i < nr_attacks; ++i)
    a[i] = attack (argv[7 + i], nr, seconds);

  start = now_ns ();
  while (all_open (a, nr_attacks) > 0 || descriptors () > fds) {
    if (seconds_since (start) > CLOSED_SECONDS * patience)
      DIE ("%u connections are open still, and %u descriptors, not %u",
           all_open (a, nr_attacks), descriptors (), fds);
    sleep_ms (20);
  }
  printf ("all closed after %.1f s\n", seconds_since (start));
  io_stop = true;
  pthread_join (io, NULL);
  for (i = 0; i < nr_attacks; ++i)
    attackers_stop (a[i]);
  free (a);
  return 0;
}
