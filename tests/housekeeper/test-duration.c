/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals: what is understood, and what is refused. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "duration.h"
#include "helpers.h"

static void
good_durations (void **state)
{
  static const struct {
    const char *text;
    unsigned ms;
  } good[] = {
    {"0", 0},
    {"000", 0},
    {"0ms", 0},
    {"0s", 0},
    {"0h", 0},
    {"1ms", 1},
    {"500ms", 500},
    {"5s", 5000},
    {"05s", 5000},
    {"1m", 60000},
    {"2h", 7200000},
    {"24h", DURATION_MAX_MS},
    {"1440m", 86400000},
    {"86400s", 86400000},
    {"86400000ms", 86400000},
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (good); ++i) {
    unsigned ms = 12345;

    if (duration_parse (good[i].text, &ms) != 0 || ms != good[i].ms)
      fail_msg ("'%s' gives %u ms, not %u", good[i].text, ms, good[i].ms);
  }
}

static void
bad_durations (void **state)
{
  static const char *const bad[] = {
    "",
    "5",
    "ms",
    "s",
    "-1s",
    "+1s",
    " 5s",
    "5s ",
    "5 s",
    "5S",
    "5MS",
    "5sec",
    "1.5s",
    "0x10s",
    "1e3s",
    "5d",
    "25h",
    "1441m",
    "86401s",
    "86400001ms",
    "999999999h",
    "1000000000ms",
    "18446744073709551616s",
    "4294967296ms",
    "5s\n",
    "\xff",
    "5\xc2\xb5s",
    "00x",
    "0 ",
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i) {
    unsigned ms = 12345;

    if (duration_parse (bad[i], &ms) != -EINVAL || ms != 12345)
      fail_msg ("'%s' is not refused, or gives %u ms", bad[i], ms);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (good_durations),
    cmocka_unit_test (bad_durations),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
