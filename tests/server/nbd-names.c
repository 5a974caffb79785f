/* SPDX-License-Identifier: BSD-3-Clause */
/* nbd-names SOCKET: ask for exports by names that must all be refused, also
 * such as no library would send.  Each gets an error of the protocol, or else
 * the connection is closed; in any case the server goes on.
 */
#include <config.h>

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

#define MAX_NAME 5000

/* As the protocol has them. */
#define OPT_GO         7u
#define OPTION_MAGIC   UINT64_C (0x49484156454F5054)
#define REP_ERROR      UINT32_C (0x80000000)
#define FIXED_NEWSTYLE 1u

/* For the length: all of an array but the NUL at its end. */
#define NAME(text)                                                             \
  {                                                                            \
    text, sizeof text - 1                                                      \
  }

static const struct {
  const char *name;
  size_t len;
} names[] = {
  NAME ("/"),
  NAME ("a/b"),
  NAME ("/a"),
  NAME ("a/"),
  NAME ("a//mm_stat"),
  NAME ("a/mm_stat/"),
  NAME ("../mm_stat"),
  NAME ("."),
  NAME (".."),
  NAME ("a b"),
  NAME ("a\nb"),
  NAME ("a\0b"),
  NAME ("a\0"),
  NAME ("\0"),
  NAME ("mm_stat\0"),
  NAME ("\x1b[2Jred"),
  NAME ("%s%s%n%99999d"),
  NAME ("caf\xe9"),              /* Latin-1 */
  NAME ("caf\xc3\xa9"),          /* UTF-8 */
  NAME ("\xff\xfe\x61\0\x62\0"), /* UTF-16 */
  NAME ("\xed\xa0\x80"),         /* a surrogate */
  NAME ("\xc0\xaf"),             /* an overlong slash */
  NAME ("\xd0\xb0"),             /* looks like an a */
  NAME ("a,b"),
  NAME ("a=b"),
  NAME ("*"),
  NAME ("a\\b"),
};

/* And these lengths of one letter. */
static const size_t lengths[] = {65, 255, 256, 1024, 4095, 4096, 4097};

static int
say (int fd, const void *buf, size_t len)
{
  return send (fd, buf, len, MSG_NOSIGNAL) == (ssize_t) len ? 0 : -1;
}

static int
hear (int fd, void *buf, size_t len)
{
  return recv (fd, buf, len, MSG_WAITALL) == (ssize_t) len ? 0 : -1;
}

/* Connect, up to the first option. */
static int
greet (const char *socket_path)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct timeval timeout = {.tv_sec = 30};
  char greeting[18];
  uint32_t flags = htonl (FIXED_NEWSTYLE);
  int fd = socket (AF_UNIX, SOCK_STREAM, 0);

  if (strlen (socket_path) >= sizeof address.sun_path)
    DIE ("%s: too long", socket_path);
  strcpy (address.sun_path, socket_path);
  setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  if (connect (fd, (struct sockaddr *) &address, sizeof address) == -1)
    DIE ("%s: %s", socket_path, strerror (errno));
  if (hear (fd, greeting, sizeof greeting) == -1 ||
      say (fd, &flags, sizeof flags) == -1)
    DIE ("the server does not greet");
  return fd;
}

/* Ask for the export; returns the type of the reply, or 0 if the server closed
 * the connection.
 */
static uint32_t
ask (int fd, const char *name, size_t len)
{
  struct __attribute__ ((packed)) {
    uint64_t magic;
    uint32_t option, len, name_len;
    char name[MAX_NAME + 2];
  } request = {htobe64 (OPTION_MAGIC), htonl (OPT_GO), htonl (4 + len + 2),
               htonl (len), ""};
  struct __attribute__ ((packed)) {
    uint64_t magic;
    uint32_t option, type, len;
  } reply;

  memcpy (request.name, name, len);
  if (say (fd, &request, 20 + len + 2) == -1 ||
      hear (fd, &reply, sizeof reply) == -1) {
    if (errno == EAGAIN)
      DIE ("the server does not reply");
    return 0;
  }
  return ntohl (reply.type);
}

static void
expect_refused (const char *socket_path, const char *name, size_t len)
{
  int fd = greet (socket_path);
  uint32_t type = ask (fd, name, len);

  printf ("%4zu bytes, %.8s: ", len, len && name[0] >= ' ' ? name : "");
  if (type == 0)
    puts ("closed");
  else
    printf ("reply 0x%08" PRIx32 "\n", type);
  fflush (stdout);
  if (type != 0 && !(type & REP_ERROR))
    DIE ("this name should have been refused");
  close (fd);
}

int
main (int argc, char *argv[])
{
  char name[MAX_NAME];
  size_t i;

  if (argc != 2)
    DIE ("usage: nbd-names SOCKET");
  for (i = 0; i < sizeof names / sizeof names[0]; ++i)
    expect_refused (argv[1], names[i].name, names[i].len);
  memset (name, 'a', sizeof name);
  for (i = 0; i < sizeof lengths / sizeof lengths[0]; ++i)
    expect_refused (argv[1], name, lengths[i]);
  return 0;
}
