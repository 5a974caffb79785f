/* SPDX-License-Identifier: BSD-3-Clause */
/* What people and clients write: algorithm_params and export names. */
#include <config.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "algorithm-params.h"
#include "export-name.h"
#include "helpers.h"
#include "stats.h"

static void
params_that_are_accepted (void **state)
{
  static const struct {
    const char *text;
    bool has_level;
    int level;
    const char *dict;
  } good[] = {
    {"", false, 0, NULL},
    {"   ", false, 0, NULL},
    {"dict=/etc/a=b", false, 0, "/etc/a=b"},
    {" level=3 dict=x  ", true, 3, "x"},
    {"dict=x dict=/y level=-1", true, -1, "/y"},
    {"level=3", true, 3, NULL},
    {"  level=-7  ", true, -7, NULL},
    {"level=+3", true, 3, NULL},
    {"level=0", true, 0, NULL},
    {"level=007", true, 7, NULL},
    {"level=1 level=2", true, 2, NULL},
    {"level=2147483647", true, INT_MAX, NULL},
    {"level=-2147483648", true, INT_MIN, NULL},
  };
  char why[128];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (good); ++i) {
    struct algorithm_params params = {0};

    assert_int_equal (
      algorithm_params_parse (good[i].text, &params, why, sizeof why), 0);
    assert_int_equal (params.has_level, good[i].has_level);
    assert_int_equal (params.level, good[i].level);
    if (good[i].dict) {
      assert_int_equal (params.dict_len, strlen (good[i].dict));
      assert_memory_equal (params.dict, good[i].dict, params.dict_len);
    }
    else
      assert_null (params.dict);
  }
}

static void
params_that_are_refused_change_nothing_and_say_why (void **state)
{
  static const char *const bad[] = {
    "level",
    "level=",
    "level=x",
    "level=3x",
    "level=3.0",
    "level=2147483648",
    "level=0x10",
    "level=--1",
    "level=\t3",
    "level= 3",
    "levels=3",
    "LEVEL=3",
    "dict=",
    "dict",
    "Dict=/tmp",
    "level=3,dict=x",
    "level=3 nope",
    "level=3\n",
    "level=-",
    "level=+",
    "=",
    "level=99999999999999999",
    "level=\xff",
    "\xff\xfe",
    "level==3",
  };
  char why[128];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i) {
    struct algorithm_params params = {.has_level = true, .level = 42};

    why[0] = '\0';
    assert_int_equal (algorithm_params_parse (bad[i], &params, why, sizeof why),
                      -EINVAL);
    assert_true (params.has_level);
    assert_int_equal (params.level, 42);
    assert_true (strlen (why) > 10);
    assert_true (strstr (why, "level") != NULL);
  }
}

static void
what_was_set_before_stays_unless_it_is_named (void **state)
{
  struct algorithm_params params = {.has_level = true, .level = 42};
  char why[128];

  (void) state;
  assert_int_equal (algorithm_params_parse ("", &params, why, sizeof why), 0);
  assert_true (params.has_level);
  assert_int_equal (params.level, 42);
}

static void
a_long_text_or_a_short_buffer_does_no_harm (void **state)
{
  struct algorithm_params params = {0};
  static char text[100000];
  struct {
    char why[16], beyond[16];
  } to;

  (void) state;
  memset (&to, 'Z', sizeof to);
  memset (text, 'x', sizeof text - 1);
  assert_int_equal (
    algorithm_params_parse (text, &params, to.why, sizeof to.why), -EINVAL);
  assert_true (memchr (to.why, '\0', sizeof to.why) != NULL);
  assert_int_equal (to.beyond[0], 'Z');
  memcpy (text, "level=", 6);
  memset (text + 6, '9', sizeof text - 7);
  assert_int_equal (
    algorithm_params_parse (text, &params, to.why, sizeof to.why), -EINVAL);
  assert_int_equal (to.beyond[0], 'Z');
}

#define LONGEST                                                                \
  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
device_names (void **state)
{
  static const char *const good[] = {"default", "a", "0",     "vm-1.example_x",
                                     "...",     "-", LONGEST, ".a"};
  static const char *const bad[] = {
    "",        ".",          "..",        "a b",     "a/b",
    "a\n",     "\xc3\xa4",   LONGEST "0", "mm_stat", "io_stat",
    "classes", "stats.json", "a:b",       "a\\b",    "%s"};
  size_t i;

  (void) state;
  assert_int_equal (strlen (LONGEST), DEVICE_NAME_MAX);
  for (i = 0; i < NELEM (good); ++i)
    assert_true (device_name_is_valid (good[i]));
  for (i = 0; i < NELEM (bad); ++i)
    assert_false (device_name_is_valid (bad[i]));
  /* Names of attributes are, or may become, exports themselves. */
  for (i = 0; stats_nodes[i].name; ++i)
    assert_false (device_name_is_valid (stats_nodes[i].name));
}

static void
export_names (void **state)
{
  static const struct {
    const char *text, *device, *node;
  } good[] = {
    {"", "default", NULL},
    {"default", "default", NULL},
    {"vm1", "vm1", NULL},
    {"mm_stat", "default", "mm_stat"},
    {"stats.json", "default", "stats.json"},
    {"vm1/io_stat", "vm1", "io_stat"},
    {"default/classes", "default", "classes"},
    {LONGEST, LONGEST, NULL},
    {LONGEST "/mm_stat", LONGEST, "mm_stat"},
    {".../mm_stat", "...", "mm_stat"},
  };
  static const char *const bad[] = {
    "/",           "/mm_stat",     "vm1/",         "vm1/nope",
    "a/b/mm_stat", "../mm_stat",   "./mm_stat",    "mm_stat/mm_stat",
    "mm_stat/",    "a b",          LONGEST "0",    LONGEST "0/mm_stat",
    "\xff",        "vm1//mm_stat", "vm1/mm_stat/", "..",
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (good); ++i) {
    struct export_name name;

    memset (&name, 0xee, sizeof name);
    assert_int_equal (export_name_parse (good[i].text, &name), 0);
    assert_string_equal (name.device, good[i].device);
    if (good[i].node)
      assert_string_equal (name.node->name, good[i].node);
    else
      assert_null (name.node);
  }
  for (i = 0; i < NELEM (bad); ++i) {
    struct export_name name;

    assert_int_equal (export_name_parse (bad[i], &name), -ENOENT);
  }
}

static void
a_printable_name_is_ascii_and_cut_short (void **state)
{
  char buf[8];

  (void) state;
  export_name_printable ("a\nb\x7f\xc3 z", buf, sizeof buf);
  assert_string_equal (buf, "a?b?? z");
  export_name_printable ("0123456789", buf, sizeof buf);
  assert_string_equal (buf, "0123456");
  export_name_printable ("", buf, sizeof buf);
  assert_string_equal (buf, "");
  export_name_printable ("abc", buf, 1);
  assert_string_equal (buf, "");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (params_that_are_accepted),
    cmocka_unit_test (params_that_are_refused_change_nothing_and_say_why),
    cmocka_unit_test (what_was_set_before_stays_unless_it_is_named),
    cmocka_unit_test (a_long_text_or_a_short_buffer_does_no_harm),
    cmocka_unit_test (device_names),
    cmocka_unit_test (export_names),
    cmocka_unit_test (a_printable_name_is_ascii_and_cut_short),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
