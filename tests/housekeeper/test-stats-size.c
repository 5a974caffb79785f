/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as mem_limit takes them: what is understood, and what is refused. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "helpers.h"
#include "stats.h"

static void
good_sizes (void **state)
{
  static const struct {
    const char *text;
    uint64_t bytes;
  } good[] = {
    {"0", 0},
    {"0G", 0},
    {"1", 1},
    {"0001", 1},
    {"536870912", 536870912},
    {"512M", 536870912},
    {"512m", 536870912},
    {"1K", 1024},
    {"1k", 1024},
    {"1G", 1073741824},
    {"3T", UINT64_C (3) << 40},
    {"1P", UINT64_C (1) << 50},
    {"16383P", UINT64_C (16383) << 50},
    {"9999999999999999999", UINT64_C (9999999999999999999)},
    {"18014398509481983K", UINT64_MAX - 1023},
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (good); ++i) {
    uint64_t bytes = 12345;

    if (stats_size_parse (good[i].text, &bytes) != 0 || bytes != good[i].bytes)
      fail_msg ("'%s' gives %llu, not %llu", good[i].text,
                (unsigned long long) bytes, (unsigned long long) good[i].bytes);
  }
}

static void
bad_sizes (void **state)
{
  static const char *const bad[] = {
    "",
    "M",
    "-1",
    "+1",
    " 1",
    "1 ",
    "1.5G",
    "1GB",
    "1GiB",
    "1E",
    "1B",
    "0x10",
    "1\n",
    "1G\n",
    "1,000",
    "max",
    "16384P",
    "18014398509481984K",
    "20000000000000000000",
    "99999999999999999999999999",
    "1\xff",
    "1\xe7",
    "1{",
    "1@",
    "M1",
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i) {
    uint64_t bytes = 12345;

    if (stats_size_parse (bad[i], &bytes) != -EINVAL || bytes != 12345)
      fail_msg ("'%s' is not refused, or gives %llu", bad[i],
                (unsigned long long) bytes);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (good_sizes),
    cmocka_unit_test (bad_sizes),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
