/* SPDX-License-Identifier: BSD-3-Clause */
/* Compaction: few copies, little left over, nothing lost, nothing to pay for
 * when there is nothing to do.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "pool-fixture.h"

#define NR_CHUNKS 128

/* A kind of compressed swap: mostly a quarter to a half of a page. */
static size_t
random_len (struct rng *rng)
{
  switch (rng_below (rng, 8)) {
  case 0:
    return rng_range (rng, 40, 400);
  case 1:
    return rng_range (rng, 2000, 3200);
  default:
    return rng_range (rng, 400, 2000);
  }
}

static void
fill (struct pool_fixture *f, struct rng *rng)
{
  uint32_t i;

  for (i = 0; i < f->nr_objects; ++i)
    assert_int_equal (pool_put (f, i, random_len (rng)), 0);
}

/* Free at random until keep_percent are left. */
static void
thin_out (struct pool_fixture *f, struct rng *rng, unsigned keep_percent)
{
  uint32_t i;

  for (i = 0; i < f->nr_objects; ++i)
    if (rng_below (rng, 100) >= keep_percent)
      pool_drop (f, i);
}

static int
descending (const void *a, const void *b)
{
  return *(const uint16_t *) b - *(const uint16_t *) a;
}

/* The fewest copies that leave nothing freeable: in each class the ceil (used
 * / objs) fullest zspages stay, the objects of the others move.
 */
static size_t
fewest_copies (const struct pool_fixture *f, unsigned chain)
{
  const size_t nr_zspages = (size_t) NR_CHUNKS * ZSPAGE_CHUNK_PAGES;
  uint16_t *in_use = calloc (nr_zspages, sizeof *in_use);
  uint16_t *sorted = calloc (nr_zspages, sizeof *sorted);
  int *class_of = calloc (nr_zspages, sizeof *class_of);
  struct zs_size_classes classes;
  size_t i, copies = 0;
  int class;

  zs_size_classes_init (&classes, chain);
  for (i = 0; i < f->nr_objects; ++i) {
    struct where w;

    if (f->objects[i].len == 0)
      continue;
    w = pool_where (f, f->objects[i].ref);
    in_use[w.zspage]++;
    class_of[w.zspage] = w.class;
  }
  for (class = 0; class < (int) ZS_NR_SIZES; ++class) {
    size_t n = 0, used = 0, keep, objs = classes.of[class].objs;

    for (i = 0; i < nr_zspages; ++i) {
      if (in_use[i] > 0 && class_of[i] == class) {
        sorted[n++] = in_use[i];
        used += in_use[i];
      }
    }
    qsort (sorted, n, sizeof *sorted, descending);
    keep = (used + objs - 1) / objs;
    for (i = keep; i < n; ++i)
      copies += sorted[i];
  }
  free (in_use);
  free (sorted);
  free (class_of);
  return copies;
}

static double
efficiency (const struct pool_fixture *f)
{
  size_t i, bytes = 0;

  for (i = 0; i < f->nr_objects; ++i)
    bytes += f->objects[i].len;
  return 100.0 * bytes / (pool_stats (f).pages_used * ZSPAGE_PAGE_SIZE);
}

static void
copies_are_the_fewest_and_little_is_left_over (void **state)
{
  static const unsigned keeps[] = {30, 40, 50};
  static const unsigned chains[] = {4, 8, 16};
  size_t c, k;

  (void) state;
  for (c = 0; c < NELEM (chains); ++c) {
    for (k = 0; k < NELEM (keeps); ++k) {
      struct pool_fixture f;
      struct rng rng = rng_make (10 * c + k);
      size_t used, freed, fewest, moved;
      double before;

      pool_fixture_init (&f, chains[c], NR_CHUNKS, test_scaled (24000), 0);
      fill (&f, &rng);
      thin_out (&f, &rng, keeps[k]);
      before = efficiency (&f);
      fewest = fewest_copies (&f, chains[c]);
      used = pool_stats (&f).pages_used;
      freed = zs_compact (f.pool);
      moved = pool_stats (&f).objects_moved;
      print_message ("chain %2u, %u%% kept: %zu copies of at least %zu, "
                     "%zu pages of %zu freed, payload %.1f%% -> %.1f%%\n",
                     chains[c], keeps[k], moved, fewest, freed, used, before,
                     efficiency (&f));
      assert_int_equal (pool_stats (&f).freeable_pages, 0);
      assert_int_equal (pool_stats (&f).pages_used, used - freed);
      assert_int_equal (pool_stats (&f).pages_compacted, freed);
      assert_int_equal (moved, f.relocations);
      assert_true (moved >= fewest);
      assert_true (moved <= fewest + fewest / 50);
      pool_check (&f);
      /* Nothing more to do. */
      assert_int_equal (zs_compact (f.pool), 0);
      assert_int_equal (f.relocations, moved);
      pool_fixture_fini (&f);
    }
  }
}

static void
efficiency_is_97_percent_after_compaction (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (20);
  size_t i, n = 40000;
  double before;

  (void) state;
  /* A few sizes, so that zspages filled in part do not count. */
  pool_fixture_init (&f, 8, NR_CHUNKS, n, 0);
  for (i = 0; i < n; ++i)
    assert_int_equal (
      pool_put (&f, i,
                16 * (30 + 7 * rng_below (&rng, 12)) - ZSPAGE_OBJECT_HEADER),
      0);
  thin_out (&f, &rng, 40);
  before = efficiency (&f);
  zs_compact (f.pool);
  print_message ("payload / memory: %.1f%% -> %.1f%%\n", before,
                 efficiency (&f));
  assert_true (before <= 43);
  assert_true (efficiency (&f) >= 97);
  pool_fixture_fini (&f);
}

static void
what_is_refused_stays_valid_and_the_rest_moves (void **state)
{
  static const unsigned refuse[] = {1, 2, 10};
  size_t i, round;

  (void) state;
  for (i = 0; i < NELEM (refuse); ++i) {
    struct pool_fixture f;
    struct rng rng = rng_make (30 + i);
    size_t freed = 0;

    pool_fixture_init (&f, 8, NR_CHUNKS, 5000, 0);
    fill (&f, &rng);
    thin_out (&f, &rng, 40);
    f.refuse_one_in = refuse[i];
    for (round = 0; round < 4; ++round) {
      freed += zs_compact (f.pool);
      pool_check (&f);
    }
    assert_true (f.refusals > 0);
    if (refuse[i] == 1)
      assert_int_equal (freed, 0);
    else
      assert_true (freed > 0);
    assert_int_equal (pool_stats (&f).objects_moved, f.relocations);
    f.refuse_one_in = 0;
    zs_compact (f.pool);
    assert_int_equal (pool_stats (&f).freeable_pages, 0);
    pool_fixture_fini (&f);
  }
}

static void
one_class_is_compacted_alone (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (40);
  struct zs_class_stats before, after;
  size_t freed = 0, freeable;
  unsigned i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 10000, 0);
  fill (&f, &rng);
  thin_out (&f, &rng, 40);
  for (i = 0; i < ZS_NR_SIZES + 1; ++i) {
    if (!zs_class_stats (f.pool, i, &before)) {
      assert_int_equal (zs_compact_class (f.pool, i), 0);
      continue;
    }
    freeable = zs_freeable_pages (f.pool);
    assert_int_equal (zs_compact_class (f.pool, i), before.freeable);
    assert_true (zs_class_stats (f.pool, i, &after));
    assert_int_equal (after.freeable, 0);
    assert_int_equal (after.obj_used, before.obj_used);
    assert_int_equal (zs_freeable_pages (f.pool), freeable - before.freeable);
    freed += before.freeable;
  }
  assert_int_equal (pool_stats (&f).pages_compacted, freed);
  pool_fixture_fini (&f);
}

static void
compacted_memory_is_given_back (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (50);
  size_t populated;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 10000, 0);
  fill (&f, &rng);
  thin_out (&f, &rng, 30);
  populated = f.os.populated;
  zs_compact (f.pool);
  zs_trim_stock (f.pool, 0);
  print_message ("%zu pages with memory, %zu after compaction\n", populated,
                 f.os.populated);
  assert_int_equal (f.os.populated,
                    pool_stats (&f).pages_used + pool_stats (&f).reserve_pages);
  assert_true (f.os.populated < populated / 2);
  pool_fixture_fini (&f);
}

/* Prints a figure; nothing depends on it. */
static void
a_scan_with_nothing_to_do_is_cheap (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (60);
  size_t i, n = 100000;
  double start;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 10000, 0);
  fill (&f, &rng);
  zs_compact (f.pool);
  start = test_now ();
  for (i = 0; i < n; ++i)
    assert_int_equal (zs_compact (f.pool), 0);
  print_message ("%.1f ns a scan\n", (test_now () - start) / n * 1e9);
  pool_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (copies_are_the_fewest_and_little_is_left_over),
    cmocka_unit_test (efficiency_is_97_percent_after_compaction),
    cmocka_unit_test (what_is_refused_stays_valid_and_the_rest_moves),
    cmocka_unit_test (one_class_is_compacted_alone),
    cmocka_unit_test (compacted_memory_is_given_back),
    cmocka_unit_test (a_scan_with_nothing_to_do_is_cheap),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
