/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts from people and clients: intervals, sizes, addresses.  Each is compared
 * with a second opinion that is written another way.
 */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "fuzz.h"
#include "stats-address.h"
#include "stats.h"

#define MUST(cond)                                                             \
  do {                                                                         \
    if (!(cond))                                                               \
      abort ();                                                                \
  } while (0)

/* The number that text begins with, of at most 30 digits; false if it begins
 * with none.
 */
static bool
leading_number (const char *text, double *n, const char **rest)
{
  char digits[31];
  size_t len;

  for (len = 0; isdigit ((unsigned char) text[len]); ++len)
    if (len == 30)
      return false;
  memcpy (digits, text, len);
  digits[len] = '\0';
  *n = atof (digits);
  *rest = text + len;
  return len > 0;
}

static void
duration (const char *text)
{
  unsigned ms = 4242;
  int r = duration_parse (text, &ms);
  const char *rest;
  double n;

  MUST (r == 0 || r == -EINVAL);
  if (r < 0) {
    MUST (ms == 4242);
    return;
  }
  MUST (ms <= DURATION_MAX_MS);
  MUST (leading_number (text, &n, &rest));
  if (strcmp (rest, "ms") == 0)
    MUST (n == ms);
  else if (strcmp (rest, "s") == 0)
    MUST (n * 1000 == ms);
  else if (strcmp (rest, "m") == 0)
    MUST (n * 60000 == ms);
  else if (strcmp (rest, "h") == 0)
    MUST (n * 3600000 == ms);
  else
    MUST (*rest == '\0' && n == 0 && ms == 0);
}

static void
size (const char *text)
{
  static const char units[] = "KMGTPkmgtp";
  uint64_t bytes = 4242;
  int r = stats_size_parse (text, &bytes);
  const char *rest, *unit;
  double n;
  int i;

  MUST (r == 0 || r == -EINVAL);
  if (r < 0) {
    MUST (bytes == 4242);
    return;
  }
  MUST (leading_number (text, &n, &rest));
  if (*rest) {
    unit = strchr (units, *rest);
    MUST (unit != NULL && rest[1] == '\0');
    for (i = (unit - units) % 5; i >= 0; --i)
      n *= 1024;
  }
  /* A double has 53 bits, so the last ones may differ. */
  MUST ((double) bytes >= n * 0.999999 && (double) bytes <= n * 1.000001);
}

static void
address (const char *text)
{
  struct stats_address a;
  char why[48];
  int r;

  memset (why, 'x', sizeof why);
  r = stats_address_parse (text, &a, why, sizeof why);
  MUST (r == 0 || r == -EINVAL);
  if (r < 0) {
    MUST (memchr (why, '\0', sizeof why) != NULL && why[0] != '\0');
    return;
  }
  if (a.is_unix) {
    MUST (a.un.sun_family == AF_UNIX && a.un.sun_path[0] == '/');
    MUST (memchr (a.un.sun_path, '\0', sizeof a.un.sun_path) != NULL);
    MUST (strncmp (text, "unix:", 5) == 0);
    MUST (strcmp (text + 5, a.un.sun_path) == 0);
  }
  else if (a.sa.sa_family == AF_INET) {
    /* Loopback, and nothing but. */
    MUST (a.len == sizeof a.in && ntohl (a.in.sin_addr.s_addr) >> 24 == 127);
    MUST (strncmp (text, "tcp:127.", 8) == 0);
  }
  else {
    MUST (a.sa.sa_family == AF_INET6 && a.len == sizeof a.in6);
    MUST (IN6_IS_ADDR_LOOPBACK (&a.in6.sin6_addr));
    MUST (strncmp (text, "tcp:[::1]:", 10) == 0);
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t len)
{
  char *text = malloc (len + 1);

  MUST (text != NULL);
  memcpy (text, data, len);
  text[len] = '\0';
  duration (text);
  size (text);
  address (text);
  free (text);
  return 0;
}
