/* SPDX-License-Identifier: BSD-3-Clause */
/* What memory cgroups allow, from made-up trees of /proc and the groups. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "headroom.h"
#include "helpers.h"

#define MIB (UINT64_C (1) << 20)
/* What is left to the rest of the process where limits are small. */
#define REST (8 * MIB)

struct tree {
  char root[64];
};

/* Write a file of the tree, and the folders above it. */
static void
put (const struct tree *t, const char *path, const char *text)
{
  char full[512];
  char *slash;
  FILE *f;

  snprintf (full, sizeof full, "%s%s", t->root, path);
  for (slash = strchr (full + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
    *slash = '\0';
    mkdir (full, 0700);
    *slash = '/';
  }
  f = fopen (full, "w");
  assert_non_null (f);
  fputs (text, f);
  fclose (f);
}

static void
put_number (const struct tree *t, const char *path, uint64_t n)
{
  char text[32];

  snprintf (text, sizeof text, "%llu\n", (unsigned long long) n);
  put (t, path, text);
}

static void
tree_make (struct tree *t)
{
  strcpy (t->root, "/tmp/zspage-headroom.XXXXXX");
  assert_non_null (mkdtemp (t->root));
}

static void
tree_remove (struct tree *t)
{
  char command[128];

  snprintf (command, sizeof command, "rm -rf '%s'", t->root);
  assert_int_equal (system (command), 0);
}

#define V2_MOUNT                                                               \
  "22 1 0:5 / /proc rw - proc proc rw\n"                                       \
  "30 1 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
#define V2 "/sys/fs/cgroup"

/* A process in /a/b of version 2, with these limits; NULL: no such file. */
static struct headroom *
version_2 (struct tree *t, const char *max_a, const char *max_b)
{
  struct headroom *h;

  tree_make (t);
  put (t, "/proc/self/cgroup", "0::/a/b\n");
  put (t, "/proc/self/mountinfo", V2_MOUNT);
  put (t, V2 "/cgroup.procs", "");
  put (t, V2 "/a/memory.max", max_a);
  put_number (t, V2 "/a/memory.current", 10 * MIB);
  put (t, V2 "/a/memory.stat", "anon 5\ninactive_file 0\nactive_file 0\n");
  put (t, V2 "/a/b/memory.max", max_b);
  put_number (t, V2 "/a/b/memory.current", 4 * MIB);
  put (t, V2 "/a/b/memory.stat", "anon 5\ninactive_file 0\nactive_file 0\n");
  assert_int_equal (headroom_create (t->root, &h), 0);
  return h;
}

static void
without_groups_nothing_is_refused (void **state)
{
  struct headroom *h;
  struct tree t;

  (void) state;
  tree_make (&t);
  assert_int_equal (headroom_create (t.root, &h), 0);
  assert_true (headroom_left (h) == UINT64_MAX);
  assert_true (headroom_take (h, SIZE_MAX));
  headroom_destroy (h);
  tree_remove (&t);
}

static void
without_limits_nothing_is_refused (void **state)
{
  struct tree t;
  struct headroom *h = version_2 (&t, "max\n", "max\n");

  (void) state;
  assert_true (headroom_left (h) == UINT64_MAX);
  assert_true (headroom_take (h, 1024 * MIB));
  headroom_destroy (h);
  tree_remove (&t);
}

static void
the_nearest_limit_counts (void **state)
{
  static const struct {
    const char *a, *b;
    uint64_t left;
  } cases[] = {
    {"max\n", "104857600\n", 100 * MIB - 4 * MIB - REST},
    {"104857600\n", "max\n", 100 * MIB - 10 * MIB - REST},
    {"104857600\n", "209715200\n", 100 * MIB - 10 * MIB - REST},
    {"209715200\n", "104857600\n", 100 * MIB - 4 * MIB - REST},
    /* A 16th of large limits is left, and no more than 64 MiB. */
    {"max\n", "268435456\n", 256 * MIB - 4 * MIB - 16 * MIB},
    {"max\n", "10737418240\n", 10240 * MIB - 4 * MIB - 64 * MIB},
    /* Nothing is less than nothing. */
    {"max\n", "4194304\n", 0},
    {"max\n", "0\n", 0},
    {"9437184\n", "max\n", 0},
  };
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (cases); ++i) {
    struct tree t;
    struct headroom *h = version_2 (&t, cases[i].a, cases[i].b);

    if (headroom_left (h) != cases[i].left)
      fail_msg ("case %zu: %llu, not %llu", i,
                (unsigned long long) headroom_left (h),
                (unsigned long long) cases[i].left);
    headroom_destroy (h);
    tree_remove (&t);
  }
}

/* Limits may be changed while the server runs. */
static void
a_new_limit_counts_at_once (void **state)
{
  struct tree t;
  struct headroom *h = version_2 (&t, "max\n", "max\n");

  (void) state;
  put (&t, V2 "/a/b/memory.max", "20971520\n");
  assert_true (headroom_left (h) == 20 * MIB - 4 * MIB - REST);
  put (&t, V2 "/a/b/memory.max", "max\n");
  assert_true (headroom_left (h) == UINT64_MAX);
  headroom_destroy (h);
  tree_remove (&t);
}

static void
cached_files_are_no_use (void **state)
{
  struct tree t;
  struct headroom *h = version_2 (&t, "max\n", "20971520\n");

  (void) state;
  put_number (&t, V2 "/a/b/memory.current", 19 * MIB);
  put (&t, V2 "/a/b/memory.stat",
       "anon 1\nfile 18874368\ninactive_file 8388608\nactive_file 2097152\n");
  assert_true (headroom_left (h) == 20 * MIB - REST - (19 - 10) * MIB);
  headroom_destroy (h);
  tree_remove (&t);
}

/* What was granted may be taken without another look, and no more than there
 * is.
 */
static void
more_than_there_is_is_refused (void **state)
{
  struct tree t;
  struct headroom *h = version_2 (&t, "max\n", "104857600\n");
  uint64_t taken = 4 * MIB;
  int i;

  (void) state;
  for (i = 0; i < 1000 && headroom_take (h, 256 * 1024); ++i) {
    taken += 256 * 1024;
    put_number (&t, V2 "/a/b/memory.current", taken);
  }
  assert_true (taken <= 100 * MIB - REST);
  assert_true (taken > 100 * MIB - REST - 256 * 1024);
  assert_false (headroom_take (h, 256 * 1024));
  put_number (&t, V2 "/a/b/memory.current", taken - 256 * 1024);
  assert_true (headroom_take (h, 256 * 1024));
  headroom_destroy (h);
  tree_remove (&t);
}

/* Version 1, beside an empty version 2. */
static void
version_1_is_known (void **state)
{
  struct headroom *h;
  struct tree t;

  (void) state;
  tree_make (&t);
  put (&t, "/proc/self/cgroup",
       "5:devices:/x\n4:cpu,memory:/x\n3:memory-not:/no\n0::/\n");
  put (&t, "/proc/self/mountinfo",
       "31 30 0:28 / /cg/devices rw - cgroup cgroup rw,devices\n"
       "34 30 0:31 / /cg/memory rw,relatime - cgroup cgroup rw,cpu,memory\n"
       "40 30 0:37 / /cg/unified rw - cgroup2 cgroup2 rw\n");
  put (&t, "/cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put_number (&t, "/cg/memory/memory.usage_in_bytes", 500 * MIB);
  put (&t, "/cg/memory/x/memory.limit_in_bytes", "104857600\n");
  put_number (&t, "/cg/memory/x/memory.usage_in_bytes", 30 * MIB);
  assert_int_equal (headroom_create (t.root, &h), 0);
  assert_true (headroom_left (h) == 100 * MIB - 30 * MIB - REST);
  headroom_destroy (h);
  tree_remove (&t);
}

/* A container sees its own part of the hierarchy as all of it. */
static void
part_of_a_hierarchy_is_found (void **state)
{
  struct headroom *h;
  struct tree t;

  (void) state;
  tree_make (&t);
  put (&t, "/proc/self/cgroup", "0::/docker/abc/srv\n");
  put (&t, "/proc/self/mountinfo",
       "30 1 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n");
  put (&t, V2 "/memory.max", "104857600\n");
  put_number (&t, V2 "/memory.current", 50 * MIB);
  put (&t, V2 "/srv/memory.max", "max\n");
  put_number (&t, V2 "/srv/memory.current", MIB);
  assert_int_equal (headroom_create (t.root, &h), 0);
  assert_true (headroom_left (h) == 100 * MIB - 50 * MIB - REST);
  headroom_destroy (h);
  tree_remove (&t);
}

static void
nonsense_is_no_limit (void **state)
{
  struct headroom *h;
  struct tree t;

  (void) state;
  tree_make (&t);
  put (&t, "/proc/self/cgroup", "\n:::\n0\n0:\n0::\nxyz");
  put (&t, "/proc/self/mountinfo", "\n - cgroup2\n1 - cgroup2 x y\n");
  assert_int_equal (headroom_create (t.root, &h), 0);
  assert_true (headroom_left (h) == UINT64_MAX);
  headroom_destroy (h);
  tree_remove (&t);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (without_groups_nothing_is_refused),
    cmocka_unit_test (without_limits_nothing_is_refused),
    cmocka_unit_test (the_nearest_limit_counts),
    cmocka_unit_test (a_new_limit_counts_at_once),
    cmocka_unit_test (cached_files_are_no_use),
    cmocka_unit_test (more_than_there_is_is_refused),
    cmocka_unit_test (version_1_is_known),
    cmocka_unit_test (part_of_a_hierarchy_is_found),
    cmocka_unit_test (nonsense_is_no_limit),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
