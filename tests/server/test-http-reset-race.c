/* SPDX-License-Identifier: BSD-3-Clause */
/* test-http-reset-race SOCKET DEVICE-URI MM_STAT-URI MIB: fill the device, and
 * while it is being reset come as a new client and write a page, which must be
 * there after the reset.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

#define ROUNDS   4
#define ATTEMPTS 20

static const char *socket_path;
static _Atomic int status; /* of the answer; 0: not yet */

/* Ask for the reset, and wait for the answer. */
static void *
reset_main (void *arg)
{
  static const char request[] =
    "PUT /devices/default/reset HTTP/1.1\r\nHost: localhost\r\n"
    "Connection: close\r\nContent-Length: 1\r\n\r\n1";
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char answer[64] = "";
  int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  (void) arg;
  strcpy (address.sun_path, socket_path);
  if (connect (fd, (struct sockaddr *) &address, sizeof address) == -1 ||
      send (fd, request, sizeof request - 1, 0) != sizeof request - 1 ||
      recv (fd, answer, sizeof answer - 1, MSG_WAITALL) < 12)
    DIE ("%s: %s", socket_path, strerror (errno));
  close (fd);
  status = atoi (answer + strlen ("HTTP/1.1 "));
  return NULL;
}

static uint64_t
orig_data_size (const char *uri)
{
  struct nbd_handle *nbd = client_connect (uri);
  char text[20] = "";
  uint64_t n;

  NBD (nbd_pread (nbd, text, sizeof text - 1, 0, 0));
  n = strtoull (text, NULL, 10);
  client_close (nbd);
  return n;
}

static void
fill (const char *uri, uint64_t bytes)
{
  struct nbd_handle *nbd = client_connect (uri);
  struct data data = {DATA_TEXT, 1};
  uint8_t *buf = xmalloc (MIB);
  uint64_t offset;

  for (offset = 0; offset < bytes; offset += MIB) {
    data_make (&data, buf, offset, MIB);
    NBD (nbd_pwrite (nbd, buf, MIB, offset, 0));
  }
  free (buf);
  client_close (nbd);
}

/* A page at the end of the device, which the reset comes to last.  False if it
 * was refused while the server still saw another client, or was too quick.
 */
static bool
write_during_reset (const char *uri, const char *mm_stat_uri, uint64_t full)
{
  struct data data = {DATA_TEXT, 2};
  uint8_t want[PAGE], got[PAGE];
  struct nbd_handle *nbd;
  uint64_t offset;
  pthread_t thread;
  bool was_during;

  status = 0;
  if (pthread_create (&thread, NULL, reset_main, NULL) != 0)
    DIE ("cannot start a thread");
  while (status == 0 && orig_data_size (mm_stat_uri) >= full)
    ;
  if (status != 0) {
    pthread_join (thread, NULL);
    if (status != 200 && status != 409)
      DIE ("reset: status %d", status);
    return false;
  }
  nbd = client_connect (uri);
  offset = (uint64_t) nbd_get_size (nbd) - PAGE;
  data_make (&data, want, offset, PAGE);
  NBD (nbd_pwrite (nbd, want, PAGE, offset, 0));
  was_during = status == 0;
  pthread_join (thread, NULL);
  NBD (nbd_pread (nbd, got, PAGE, offset, 0));
  data_compare (got, want, PAGE, offset, "after the reset");
  client_close (nbd);
  printf ("status %d, written %s the answer\n", status,
          was_during ? "before" : "after");
  fflush (stdout);
  return true;
}

int
main (int argc, char *argv[])
{
  uint64_t bytes;
  int i, done = 0;

  if (argc != 5)
    DIE ("usage: test-http-reset-race SOCKET DEVICE-URI MM_STAT-URI MIB");
  socket_path = argv[1];
  if (strlen (socket_path) >= sizeof ((struct sockaddr_un *) 0)->sun_path)
    DIE ("%s: too long", socket_path);
  bytes = parse_number (argv[4]) * MIB;
  for (i = 0; i < ATTEMPTS && done < ROUNDS; ++i) {
    fill (argv[2], bytes);
    done += write_during_reset (argv[2], argv[3], bytes);
  }
  printf ("%d of %d attempts came while the device was being reset\n", done, i);
  return 0;
}
