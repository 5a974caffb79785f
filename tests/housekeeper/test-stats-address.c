/* SPDX-License-Identifier: BSD-3-Clause */
/* Where statistics may be served, and how the socket is made: with its mode, in
 * place of a stale one, and never in place of anything else.
 */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"
#include "stats-address.h"

static void
good_addresses (void **state)
{
  static const struct {
    const char *text;
    int family;
    unsigned port;
    const char *ip;
  } good[] = {
    {"unix:/run/x", AF_UNIX, 0, NULL},
    {"unix:/a:b c/\xff", AF_UNIX, 0, NULL},
    {"tcp:127.0.0.1:0", AF_INET, 0, "127.0.0.1"},
    {"tcp:127.0.0.1:9100", AF_INET, 9100, "127.0.0.1"},
    {"tcp:127.255.255.254:65535", AF_INET, 65535, "127.255.255.254"},
    {"tcp:[::1]:80", AF_INET6, 80, "::1"},
  };
  char why[100], ip[INET6_ADDRSTRLEN];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (good); ++i) {
    struct stats_address a;

    if (stats_address_parse (good[i].text, &a, why, sizeof why) != 0)
      fail_msg ("'%s' is refused: %s", good[i].text, why);
    assert_int_equal (a.sa.sa_family, good[i].family);
    assert_int_equal (a.is_unix, good[i].family == AF_UNIX);
    switch (good[i].family) {
    case AF_UNIX:
      assert_string_equal (a.un.sun_path, good[i].text + 5);
      break;
    case AF_INET:
      assert_int_equal (a.len, sizeof a.in);
      assert_int_equal (ntohs (a.in.sin_port), good[i].port);
      inet_ntop (AF_INET, &a.in.sin_addr, ip, sizeof ip);
      assert_string_equal (ip, good[i].ip);
      break;
    default:
      assert_int_equal (a.len, sizeof a.in6);
      assert_int_equal (ntohs (a.in6.sin6_port), good[i].port);
      inet_ntop (AF_INET6, &a.in6.sin6_addr, ip, sizeof ip);
      assert_string_equal (ip, good[i].ip);
    }
  }
}

static void
bad_addresses (void **state)
{
  static const char *const bad[] = {
    "",
    "unix:",
    "unix:relative",
    "UNIX:/run/x",
    "/run/x",
    "tcp:",
    "tcp:9100",
    "tcp::9100",
    "tcp:127.0.0.1",
    "tcp:127.0.0.1:",
    "tcp:127.0.0.1:65536",
    "tcp:127.0.0.1:-1",
    "tcp:127.0.0.1:+1",
    "tcp:127.0.0.1: 1",
    "tcp:127.0.0.1:1 ",
    "tcp:127.0.0.1:0x50",
    "tcp:127.0.0.1:99999999999999999999999",
    "tcp:127.1:80",
    "tcp:localhost:80",
    "tcp:0.0.0.0:80",
    "tcp:128.0.0.1:80",
    "tcp:10.0.0.1:80",
    "tcp:*:80",
    "tcp:::1:80",
    "tcp:[::]:80",
    "tcp:[fe80::1]:80",
    "tcp:[::1]80",
    "tcp:[::1]:",
    "tcp:[::ffff:127.0.0.1]:80",
    "udp:127.0.0.1:80",
    "tcp:1111111111111111111111111111111111111111111111111111111111111111:80",
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i) {
    struct stats_address a;
    char why[100] = "";

    if (stats_address_parse (bad[i], &a, why, sizeof why) != -EINVAL)
      fail_msg ("'%s' is not refused", bad[i]);
    if (strlen (why) < 20)
      fail_msg ("'%s': only says '%s'", bad[i], why);
  }
}

/* The longest path that the kernel takes, and one byte more. */
static void
a_path_fits_or_is_refused (void **state)
{
  struct stats_address a;
  size_t room = sizeof a.un.sun_path;
  char text[200] = "unix:/", why[100];

  (void) state;
  memset (text + 6, 'x', room - 2);
  assert_int_equal (stats_address_parse (text, &a, why, sizeof why), 0);
  assert_int_equal (strlen (a.un.sun_path), room - 1);
  text[5 + room - 1] = 'x';
  assert_int_equal (stats_address_parse (text, &a, why, sizeof why), -EINVAL);
  assert_non_null (strstr (why, "less than"));
}

/* The reason is cut short, and ended, where there is no room. */
static void
a_short_buffer_for_the_reason_is_enough (void **state)
{
  struct stats_address a;
  char why[8];

  (void) state;
  memset (why, 'x', sizeof why);
  assert_int_equal (stats_address_parse ("foo", &a, why, sizeof why), -EINVAL);
  assert_non_null (memchr (why, '\0', sizeof why));
}

/* --- Listening, in a directory of the test's own. */

static char dir[] = "/tmp/zspage-address.XXXXXX";

static int
make_dir (void **state)
{
  test_setup (state);
  return mkdtemp (dir) ? 0 : -1;
}

static int
remove_dir (void **state)
{
  (void) state;
  return rmdir (dir);
}

static struct stats_address
address_in_dir (void)
{
  struct stats_address a;
  char text[100], why[100];

  snprintf (text, sizeof text, "unix:%s/s", dir);
  assert_int_equal (stats_address_parse (text, &a, why, sizeof why), 0);
  return a;
}

static bool
exists (const struct stats_address *a)
{
  return access (a->un.sun_path, F_OK) == 0;
}

static bool
connects (const struct stats_address *a)
{
  int fd = socket (AF_UNIX, SOCK_STREAM, 0);
  bool r = connect (fd, &a->sa, a->len) == 0;

  close (fd);
  return r;
}

static void
the_mode_is_what_was_asked_whatever_the_umask (void **state)
{
  static const unsigned modes[] = {0600, 0660, 0666, 0777, 0700, 0};
  static const mode_t umasks[] = {0, 022, 077, 0777};
  size_t i, j;

  (void) state;
  for (i = 0; i < NELEM (modes); ++i) {
    for (j = 0; j < NELEM (umasks); ++j) {
      struct stats_address a = address_in_dir ();
      mode_t before = umask (umasks[j]);
      int fd = stats_address_listen (&a, modes[i]);
      struct stat st;

      assert_int_equal (umask (before), umasks[j]);
      assert_in_range (fd, 0, 1 << 20);
      assert_int_equal (stat (a.un.sun_path, &st), 0);
      assert_int_equal (st.st_mode, S_IFSOCK | modes[i]);
      assert_true (fcntl (fd, F_GETFD) & FD_CLOEXEC);
      assert_true (fcntl (fd, F_GETFL) & O_NONBLOCK);
      close (fd);
      stats_address_unlink (&a);
      assert_false (exists (&a));
    }
  }
}

static void
a_stale_socket_is_replaced (void **state)
{
  struct stats_address a = address_in_dir ();
  int fd = stats_address_listen (&a, 0600);

  (void) state;
  close (fd);
  assert_true (exists (&a));
  assert_false (connects (&a));
  fd = stats_address_listen (&a, 0600);
  assert_in_range (fd, 0, 1 << 20);
  assert_true (connects (&a));
  close (fd);
  stats_address_unlink (&a);
}

static void
a_live_socket_is_refused_and_stays (void **state)
{
  struct stats_address a = address_in_dir ();
  int fd = stats_address_listen (&a, 0600);

  (void) state;
  assert_int_equal (stats_address_listen (&a, 0600), -EADDRINUSE);
  assert_true (connects (&a));
  close (fd);
  stats_address_unlink (&a);
}

/* Its owner is slow, and the queue full: that is alive too. */
static void
a_socket_with_a_full_queue_is_refused (void **state)
{
  struct stats_address a = address_in_dir ();
  int fd = socket (AF_UNIX, SOCK_STREAM, 0), clients[8];
  size_t i;

  (void) state;
  assert_int_equal (bind (fd, &a.sa, a.len), 0);
  assert_int_equal (listen (fd, 1), 0);
  for (i = 0; i < NELEM (clients); ++i) {
    clients[i] = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect (clients[i], &a.sa, a.len);
  }
  assert_int_equal (stats_address_listen (&a, 0600), -EADDRINUSE);
  for (i = 0; i < NELEM (clients); ++i)
    close (clients[i]);
  close (fd);
  stats_address_unlink (&a);
}

static void
a_datagram_socket_is_refused_and_stays (void **state)
{
  struct stats_address a = address_in_dir ();
  int fd = socket (AF_UNIX, SOCK_DGRAM, 0);

  (void) state;
  assert_int_equal (bind (fd, &a.sa, a.len), 0);
  assert_int_equal (stats_address_listen (&a, 0600), -EADDRINUSE);
  assert_true (exists (&a));
  close (fd);
  stats_address_unlink (&a);
}

static void
what_is_no_socket_is_refused_and_stays (void **state)
{
  struct stats_address a = address_in_dir ();
  char content[8] = "";
  int fd = open (a.un.sun_path, O_RDWR | O_CREAT, 0600);

  (void) state;
  assert_int_equal (write (fd, "precious", 8), 8);
  assert_int_equal (stats_address_listen (&a, 0600), -EEXIST);
  assert_int_equal (pread (fd, content, 8, 0), 8);
  close (fd);
  assert_true (exists (&a));
  unlink (a.un.sun_path);

  assert_int_equal (symlink ("/nonexistent", a.un.sun_path), 0);
  assert_int_equal (stats_address_listen (&a, 0600), -EEXIST);
  unlink (a.un.sun_path);

  assert_int_equal (mkdir (a.un.sun_path, 0700), 0);
  assert_int_equal (stats_address_listen (&a, 0600), -EEXIST);
  rmdir (a.un.sun_path);
}

static void
a_missing_directory_is_an_error (void **state)
{
  struct stats_address a;
  char why[100];

  (void) state;
  assert_int_equal (
    stats_address_parse ("unix:/nonexistent/s", &a, why, sizeof why), 0);
  assert_int_equal (stats_address_listen (&a, 0600), -ENOENT);
}

static void
tcp_listens_on_a_free_port (void **state)
{
  struct stats_address a;
  struct sockaddr_in in;
  socklen_t len = sizeof in;
  char why[100];
  int fd, fd2;

  (void) state;
  assert_int_equal (
    stats_address_parse ("tcp:127.0.0.1:0", &a, why, sizeof why), 0);
  fd = stats_address_listen (&a, 0600);
  assert_in_range (fd, 0, 1 << 20);
  assert_int_equal (getsockname (fd, (struct sockaddr *) &in, &len), 0);
  assert_int_equal (in.sin_addr.s_addr, htonl (INADDR_LOOPBACK));

  a.in.sin_port = in.sin_port;
  fd2 = stats_address_listen (&a, 0600);
  assert_int_equal (fd2, -EADDRINUSE);
  stats_address_unlink (&a); /* does nothing */
  close (fd);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (good_addresses),
    cmocka_unit_test (bad_addresses),
    cmocka_unit_test (a_path_fits_or_is_refused),
    cmocka_unit_test (a_short_buffer_for_the_reason_is_enough),
    cmocka_unit_test (the_mode_is_what_was_asked_whatever_the_umask),
    cmocka_unit_test (a_stale_socket_is_replaced),
    cmocka_unit_test (a_live_socket_is_refused_and_stays),
    cmocka_unit_test (a_socket_with_a_full_queue_is_refused),
    cmocka_unit_test (a_datagram_socket_is_refused_and_stays),
    cmocka_unit_test (what_is_no_socket_is_refused_and_stays),
    cmocka_unit_test (a_missing_directory_is_an_error),
    cmocka_unit_test (tcp_listens_on_a_free_port),
  };

  return cmocka_run_group_tests (tests, make_dir, remove_dir);
}
