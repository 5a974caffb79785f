/* SPDX-License-Identifier: BSD-3-Clause */
/* What the policy decides, as a table of moments in the life of a device, and
 * the order in which it takes classes.
 */
#include <config.h>

#include <string.h>

#include "helpers.h"
#include "policy.h"

/* Growth from which on it is a burst. */
#define BURST 256

/* A tick: figures in pages, and what must be decided. */
struct tick {
  uint64_t stored, used, limit, freeable, stock;
  enum policy_reason reason;
  bool compact, trim_stock;
};

struct life {
  const char *name;
  struct tick ticks[4]; /* up to one with nothing stored, used or wanted */
};

static const struct life lives[] = {
  {"nothing is stored", {{0, 0, 0, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0}}},
  {"nothing is freeable",
   {{1000, 300, 0, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0},
    {1000, 300, 0, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0}}},
  {"nothing is freeable, though the limit is reached",
   {{1000, 100, 100, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0}}},
  {"the first tick knows of no rest",
   {{1000, 300, 0, 50, 20, POLICY_BURST, 0, 0},
    {1000, 300, 0, 50, 20, POLICY_IDLE, 1, 1}}},
  {"idle: stock goes back, nothing to compact",
   {{1000, 300, 0, 0, 20, POLICY_NOTHING_FREEABLE, 0, 0},
    {1000, 300, 0, 0, 20, POLICY_NOTHING_FREEABLE, 0, 1}}},
  {"a burst, and its end",
   {{0, 0, 0, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0},
    {5000, 1500, 0, 90, 30, POLICY_BURST, 0, 0},
    {9000, 2500, 0, 90, 30, POLICY_BURST, 0, 0},
    {9000, 2500, 0, 90, 30, POLICY_IDLE, 1, 1}}},
  {"just a burst",
   {{1000, 300, 0, 9, 0, POLICY_BURST, 0, 0},
    {1000 + BURST, 400, 0, 9, 0, POLICY_BURST, 0, 0}}},
  {"just no burst",
   {{1000, 300, 0, 9, 0, POLICY_BURST, 0, 0},
    {1000 + BURST - 1, 400, 0, 9, 0, POLICY_IDLE, 1, 0}}},
  {"trims are no burst",
   {{9000, 3000, 0, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0},
    {100, 3000, 0, 2900, 0, POLICY_IDLE, 1, 0}}},
  {"overwriting is no burst, whatever it does to memory",
   {{9000, 3000, 0, 10, 0, POLICY_BURST, 0, 0},
    {9000, 4000, 0, 10, 0, POLICY_IDLE, 1, 0}}},
  {"a burst with the limit near",
   {{1000, 50, 1000, 10, 5, POLICY_BURST, 0, 0},
    {9000, 899, 1000, 10, 5, POLICY_BURST, 0, 0},
    {18000, 900, 1000, 10, 5, POLICY_NEAR, 1, 0},
    {36000, 1000, 1000, 10, 5, POLICY_NEAR, 1, 0}}},
  {"above a limit that was lowered",
   {{1000, 3000, 100, 10, 0, POLICY_NEAR, 1, 0}}},
  {"idle with the limit near",
   {{1000, 95, 100, 0, 0, POLICY_NOTHING_FREEABLE, 0, 0},
    {1000, 95, 100, 1, 7, POLICY_NEAR, 1, 1}}},
  {"numbers near the end of their range",
   {{UINT64_C (1) << 52, UINT64_C (1) << 52, UINT64_C (1) << 52,
     UINT64_C (1) << 40, 0, POLICY_NEAR, 1, 0}}},
};

static struct policy_figures
figures_of (const struct tick *t)
{
  return (struct policy_figures){
    .pages_stored = t->stored,
    .pages_used = t->used,
    .pages_limit = t->limit,
    .pages_freeable = t->freeable,
    .pages_stock = t->stock,
  };
}

static void
each_moment_has_its_decision (void **state)
{
  static const struct tick none;
  size_t i, t;

  (void) state;
  for (i = 0; i < NELEM (lives); ++i) {
    struct policy_state ps = {0};

    for (t = 0; t < NELEM (lives[i].ticks); ++t) {
      const struct tick *tick = &lives[i].ticks[t];
      struct policy_figures f = figures_of (tick);
      struct policy_decision d;

      if (t > 0 && memcmp (tick, &none, sizeof none) == 0)
        break;
      d = policy_tick (&ps, &f);
      if (d.reason != tick->reason || d.compact != tick->compact ||
          d.trim_stock != tick->trim_stock)
        fail_msg ("%s, tick %zu: reason %d, compact %d, trim %d", lives[i].name,
                  t, d.reason, d.compact, d.trim_stock);
    }
  }
}

/* A limit that all devices share is as near as one's own. */
static void
the_limit_of_all_ends_waiting_too (void **state)
{
  struct policy_figures f = {.pages_stored = 9000,
                             .pages_freeable = 1,
                             .pages_used = 60,
                             .pages_limit = 1000,
                             .all_used = 899,
                             .all_limit = 1000};
  struct policy_state ps = {0};

  (void) state;
  assert_int_equal (policy_tick (&ps, &f).reason, POLICY_BURST);
  f.pages_stored += BURST;
  f.all_used++;
  assert_int_equal (policy_tick (&ps, &f).reason, POLICY_NEAR);
}

/* Going on is asked between two slices, of a run that began at 5000 pages. */
static void
a_run_goes_on_while_it_makes_sense (void **state)
{
  static const struct {
    struct policy_figures f;
    bool go_on;
  } cases[] = {
    {{.pages_stored = 5000, .pages_freeable = 1}, true},
    {{.pages_stored = 5000, .pages_freeable = 0}, false},
    {{.pages_stored = 0, .pages_freeable = 1}, true},
    {{.pages_stored = 5000 + BURST - 1, .pages_freeable = 1}, true},
    {{.pages_stored = 5000 + BURST, .pages_freeable = 1}, false},
    {{.pages_stored = 9000,
      .pages_freeable = 1,
      .pages_used = 89,
      .pages_limit = 100},
     false},
    {{.pages_stored = 9000,
      .pages_freeable = 1,
      .pages_used = 90,
      .pages_limit = 100},
     true},
    {{.pages_stored = 9000,
      .pages_freeable = 1,
      .all_used = 90,
      .all_limit = 100},
     true},
    {{.pages_stored = 9000,
      .pages_freeable = 0,
      .pages_used = 90,
      .pages_limit = 100},
     false},
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (cases); ++i)
    if (policy_go_on (&cases[i].f, 5000) != cases[i].go_on)
      fail_msg ("case %zu: go_on is not %d", i, cases[i].go_on);
}

/* Tick at these percentages of a limit of 1000 pages, and compare what is
 * warned about.
 */
static void
expect_warnings (const char *what, const unsigned *permille,
                 const unsigned *warnings, size_t n)
{
  struct policy_state ps = {0};
  size_t i;

  for (i = 0; i < n; ++i) {
    struct policy_figures f = {.pages_used = permille[i], .pages_limit = 1000};
    struct policy_decision d = policy_tick (&ps, &f);

    if (d.warning != warnings[i])
      fail_msg ("%s, tick %zu at %u per mille: warns of %u, not %u", what, i,
                permille[i], d.warning, warnings[i]);
  }
}

#define EXPECT_WARNINGS(what, permille, warnings)                              \
  do {                                                                         \
    assert_int_equal (NELEM (permille), NELEM (warnings));                     \
    expect_warnings (what, permille, warnings, NELEM (permille));              \
  } while (0)

static void
each_level_is_said_once_on_the_way_up (void **state)
{
  static const unsigned at[] = {0, 899, 900, 949, 950, 989, 990, 1000, 1200};
  static const unsigned says[] = {0, 0, 90, 0, 95, 0, 99, 0, 0};

  (void) state;
  EXPECT_WARNINGS ("up", at, says);
}

static void
a_jump_says_only_the_highest_level (void **state)
{
  static const unsigned at[] = {100, 1000, 910, 960, 1000};
  static const unsigned says[] = {0, 99, 0, 0, 0};

  (void) state;
  EXPECT_WARNINGS ("jump", at, says);
}

static void
swaying_about_a_level_says_it_once (void **state)
{
  static const unsigned at[] = {900, 880, 900, 860, 905, 850, 901};
  static const unsigned says[] = {90, 0, 0, 0, 0, 0, 0};

  (void) state;
  EXPECT_WARNINGS ("swaying", at, says);
}

static void
after_real_relief_a_level_is_said_again (void **state)
{
  static const unsigned at[] = {960, 849, 900, 950};
  static const unsigned says[] = {95, 0, 90, 95};

  (void) state;
  EXPECT_WARNINGS ("relief", at, says);
}

static void
without_a_limit_there_is_no_warning (void **state)
{
  struct policy_state ps = {0};
  struct policy_figures f = {.pages_used = UINT64_C (1) << 40};

  (void) state;
  assert_int_equal (policy_tick (&ps, &f).warning, 0);
}

/* Lifting the limit, and setting it again, is a relief too. */
static void
a_limit_set_anew_is_warned_about_anew (void **state)
{
  struct policy_state ps = {0};
  struct policy_figures f = {.pages_used = 92, .pages_limit = 100};

  (void) state;
  assert_int_equal (policy_tick (&ps, &f).warning, 90);
  f.pages_limit = 0;
  assert_int_equal (policy_tick (&ps, &f).warning, 0);
  f.pages_limit = 100;
  assert_int_equal (policy_tick (&ps, &f).warning, 90);
}

static void
most_pages_for_a_copy_come_first (void **state)
{
  struct policy_class classes[] = {
    {.index = 1, .pages_freeable = 10, .copies = 1000},
    {.index = 2, .pages_freeable = 10, .copies = 10},
    {.index = 3, .pages_freeable = 1, .copies = 0},
    {.index = 4, .pages_freeable = 100, .copies = 20},
    {.index = 5, .pages_freeable = 7, .copies = 0},
  };
  static const unsigned order[] = {5, 4, 3, 2, 1};
  size_t i;

  (void) state;
  policy_order (classes, NELEM (classes));
  for (i = 0; i < NELEM (classes); ++i)
    assert_int_equal (classes[i].index, order[i]);
}

static void
equal_gain_is_ordered_by_index (void **state)
{
  struct policy_class classes[60];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (classes); ++i)
    classes[i] = (struct policy_class){
      .index = NELEM (classes) - 1 - i, .pages_freeable = 2, .copies = 5};
  policy_order (classes, NELEM (classes));
  for (i = 0; i < NELEM (classes); ++i)
    assert_int_equal (classes[i].index, i);
}

/* The comparison is an order: for no three classes does it go round. */
static void
any_classes_can_be_ordered (void **state)
{
  struct rng rng = rng_make (1);
  struct policy_class c[200];
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (c); ++i)
    c[i] = (struct policy_class){
      .index = i,
      .pages_freeable = 1 + (rng_next (&rng) >> rng_below (&rng, 64)) / 4096,
      .copies = (rng_next (&rng) >> rng_below (&rng, 64)) / 4096,
    };
  policy_order (c, NELEM (c));
  for (i = 1; i < NELEM (c); ++i)
    assert_true ((long double) c[i - 1].pages_freeable / (c[i - 1].copies + 1) *
                   (1 + 1e-9L) >=
                 (long double) c[i].pages_freeable / (c[i].copies + 1));
  policy_order (c, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (each_moment_has_its_decision),
    cmocka_unit_test (the_limit_of_all_ends_waiting_too),
    cmocka_unit_test (a_run_goes_on_while_it_makes_sense),
    cmocka_unit_test (each_level_is_said_once_on_the_way_up),
    cmocka_unit_test (a_jump_says_only_the_highest_level),
    cmocka_unit_test (swaying_about_a_level_says_it_once),
    cmocka_unit_test (after_real_relief_a_level_is_said_again),
    cmocka_unit_test (without_a_limit_there_is_no_warning),
    cmocka_unit_test (a_limit_set_anew_is_warned_about_anew),
    cmocka_unit_test (most_pages_for_a_copy_come_first),
    cmocka_unit_test (equal_gain_is_ordered_by_index),
    cmocka_unit_test (any_classes_can_be_ordered),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
