/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that serves a state file is killed at any of its steps, and another
 * one goes on with the file: no page is lost, what was acknowledged is there,
 * and a page that was being changed is wholly the old or wholly the new one.
 *
 * Scenarios are played by a forked child, once to count how often each step is
 * passed, and then again and again, to be killed at one of them: the first time
 * it comes by, the last, and some between.  What the pages are is in memory that
 * both share.  Some of those that are killed are recovered by another child,
 * which is killed at a random step of that, before this process does it.
 */
#include <config.h>

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dictionary-pages.h"
#include "kill-scenarios.h"

static bool
is_valgrind (void)
{
  const char *preload = getenv ("LD_PRELOAD");

  return preload &&
         (strstr (preload, "valgrind") || strstr (preload, "vgpreload"));
}

/* Each page is what it may be, and from now on that. */
static bool
pages_settle (void)
{
  uint64_t idx;

  for (idx = 0; idx < NR_PAGES; ++idx)
    if (!page_settle (idx))
      return false;
  return true;
}

static bool
store_is_right (void)
{
  const char *why = NULL;

  if (store_recovered (us.store).lost > 0) {
    wrong ("%d pages are lost", (int) store_recovered (us.store).lost);
    return false;
  }
  if (is_valgrind ())
    store_validate (us.store, &why);
  else
    why = store_check_why (us.store);
  if (why)
    wrong ("%s", why);
  return why == NULL;
}

static bool
open_and_look (void)
{
  bool is_new, made = us.world->is_made;

  if (store_open (&is_new) < 0)
    return false;
  if (is_new && made) {
    wrong ("the file is gone");
    return false;
  }
  return store_is_right () && pages_settle ();
}

/* Recover the file, go on with it, and open it once more. */
static void
survive (void)
{
  bool good = open_and_look ();

  if (good) {
    play_some (5, NR_PAGES);
    good = us.world->why[0] == 0 && store_is_right () && pages_settle ();
  }
  store_destroy (us.store);
  us.store = NULL;
  if (good && rng_one_in (&dice, 4)) {
    good = open_and_look ();
    if (good && !store_recovered (us.store).was_closed)
      wrong ("it was closed, but is not marked so");
    store_destroy (us.store);
    us.store = NULL;
  }
}

static void
play_scenario (void)
{
  bool is_new;

  store_open (&is_new);
  us.scenario->play ();
  die (END_OF_SCENARIO);
}

static void
play_rescue (void)
{
  open_and_look ();
  play_some (10, NR_PAGES);
  die (END_OF_SCENARIO);
}

/* Have a child play, which is killed so; or, if after_us is not 0, then. */
static void
in_child (void (*play) (void), size_t kill_at, uint64_t kill_nth,
          unsigned after_us)
{
  struct world *w = us.world;
  int status;
  pid_t pid;

  w->kill_at = kill_at;
  w->kill_nth = kill_nth;
  w->end = END_NONE;
  memset (w->passed, 0, sizeof w->passed);
  fflush (NULL);
  pid = fork ();
  assert_true (pid >= 0);
  if (pid == 0) {
    us.is_child = true;
    alarm (120);
    play ();
  }
  if (after_us) {
    usleep (after_us);
    kill (pid, SIGKILL);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  if (!WIFSIGNALED (status) || WTERMSIG (status) != SIGKILL)
    wrong ("the child ended with status %#x", status);
  else if (w->end == END_NONE && after_us == 0)
    wrong ("the child was killed by another");
}

static void
world_begin (void)
{
  us.world = mmap (NULL, sizeof *us.world, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true (us.world != MAP_FAILED);
}

static void
world_end (void)
{
  munmap (us.world, sizeof *us.world);
  us.world = NULL;
  unlink (us.at.path);
  unlink (us.at.copy);
}

/* How a scenario is killed: as in_child wants to know it. */
struct end_of {
  size_t point;
  uint64_t nth;
  unsigned after_us;
};

/* The scenario, killed so; and how often each point was passed. */
static void
run (uint64_t stream, struct end_of end, uint64_t passed[NR_POINTS])
{
  world_begin ();
  dice = rng_make (stream);
  in_child (play_scenario, end.point, end.nth, end.after_us);
  if (passed)
    memcpy (passed, us.world->passed, NR_POINTS * sizeof *passed);
  dice = rng_make (stream + end.point * 1000 + end.nth + end.after_us);
  if (us.world->why[0] == 0 && rng_one_in (&dice, 3))
    in_child (play_rescue, ANY_POINT, rng_range (&dice, 1, 300), 0);
  if (us.world->why[0] == 0)
    survive ();
  if (us.world->why[0])
    fail_msg ("ZSPAGE_SEED=%llu, %s, checks %d, killed at \"%s\" %llu, %u: %s",
              (unsigned long long) test_seed (), us.scenario->name,
              us.has_checks, end.nth ? points[end.point] : "the end",
              (unsigned long long) end.nth, end.after_us, us.world->why);
  world_end ();
}

/* In percent, for scales that are less than usual. */
static bool
is_chosen (struct rng *rng)
{
  return rng_below (rng, 100) < test_scaled (100);
}

static size_t
kill_everywhere (uint64_t stream, uint64_t all[NR_POINTS])
{
  struct rng rng = rng_make (stream + 1);
  uint64_t passed[NR_POINTS];
  size_t i, runs = 1, times, t;
  uint64_t nth;

  run (stream, (struct end_of){0}, passed);
  for (i = 0; i < NR_POINTS; ++i) {
    all[i] += passed[i];
    times = passed[i] < 3 ? passed[i] : 2 + test_scaled (100) / 100;
    for (t = 0; t < times; ++t) {
      nth = t == 0 ? 1 : t == 1 ? passed[i] : rng_range (&rng, 1, passed[i]);
      if (!is_chosen (&rng))
        continue;
      run (stream, (struct end_of){.point = i, .nth = nth}, NULL);
      runs++;
    }
  }
  return runs;
}

static void
killed_anywhere_it_goes_on (void **state)
{
  uint64_t all[NR_POINTS] = {0};
  size_t i, runs = 0;
  int has_checks;
  bool missed = false;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks)
    for (i = 0; i < NELEM (scenarios); ++i) {
      us.scenario = &scenarios[i];
      us.has_checks = has_checks;
      runs += kill_everywhere (100 * has_checks + 10 * i, all);
    }
  for (i = 0; i < NR_POINTS; ++i) {
    print_message ("%8llu times %s\n", (unsigned long long) all[i], points[i]);
    missed |= all[i] == 0;
  }
  print_message ("killed %zu times\n", runs);
  assert_false (missed);
}

static void
killed_at_any_moment_it_goes_on (void **state)
{
  struct rng rng = rng_make (2);
  size_t i, n = test_scaled (200);
  double took, began;

  (void) state;
  us.scenario = &scenarios[NELEM (scenarios) - 1];
  us.has_checks = false;
  began = test_now ();
  run (3, (struct end_of){0}, NULL);
  took = test_now () - began;
  for (i = 0; i < n; ++i) {
    us.scenario = &scenarios[rng_below (&rng, NELEM (scenarios))];
    us.has_checks = rng_one_in (&rng, 2);
    run (1000 + i,
         (struct end_of){.after_us = rng_range (&rng, 1, took * 1000000)},
         NULL);
  }
}

static unsigned
count_points_of (const char *path)
{
  static const char mark[] = "FAULT_POINT (\"";
  FILE *fp = fopen (path, "r");
  char line[256], *name;
  unsigned n = 0;
  size_t i;

  assert_non_null (fp);
  while (fgets (line, sizeof line, fp)) {
    name = strstr (line, mark);
    if (name == NULL)
      continue;
    name += strlen (mark);
    name[strcspn (name, "\"")] = 0;
    for (i = 0; i < NR_POINTS && strcmp (points[i], name) != 0; ++i)
      ;
    if (i == NR_POINTS)
      fail_msg ("%s: %s is not in the table of this test", path, name);
    n++;
  }
  fclose (fp);
  return n;
}

static void
all_points_of_the_sources_are_known (void **state)
{
  static const char *const folders[] = {"allocator", "plugin/store"};
  const char *srcdir = getenv ("srcdir");
  char pattern[4096];
  unsigned n = 0;
  size_t i, j;
  glob_t found;

  (void) state;
  for (i = 0; i < NELEM (folders); ++i) {
    snprintf (pattern, sizeof pattern, "%s/../../%s/*.c", srcdir ? srcdir : ".",
              folders[i]);
    if (glob (pattern, 0, NULL, &found) != 0)
      skip (); /* the sources are elsewhere */
    for (j = 0; j < found.gl_pathc; ++j)
      n += count_points_of (found.gl_pathv[j]);
    globfree (&found);
  }
  assert_int_equal (n, NR_POINTS);
}

static int
setup (void **state)
{
  struct dictionary *d;
  const void *bytes;
  unsigned i;

  test_setup (state);
  assert_true (state_folder_make (&us.at));
  for (i = 0; i < CODEC_COUNT; ++i)
    assert_int_equal (
      codec_pool_create (i, codec_levels (i).dflt, 4, &us.codecs[i]), 0);
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 3, 1, &us.strong), 0);
  for (i = 0; i < 2; ++i) {
    d = dictionary_of_records (i, 3);
    bytes = dictionary_bytes (d, &us.dictionary_lens[i]);
    us.dictionaries[i] = malloc (us.dictionary_lens[i]);
    assert_non_null (us.dictionaries[i]);
    memcpy (us.dictionaries[i], bytes, us.dictionary_lens[i]);
    dictionary_destroy (d);
  }
  return 0;
}

static int
teardown (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < CODEC_COUNT; ++i)
    codec_pool_destroy (us.codecs[i]);
  codec_pool_destroy (us.strong);
  for (i = 0; i < 2; ++i)
    free (us.dictionaries[i]);
  state_folder_remove (&us.at);
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (all_points_of_the_sources_are_known),
    cmocka_unit_test (killed_anywhere_it_goes_on),
    cmocka_unit_test (killed_at_any_moment_it_goes_on),
  };

  return cmocka_run_group_tests (tests, setup, teardown);
}
