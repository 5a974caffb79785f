/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables and examples of the Linux document Documentation/mm/zsmalloc.rst,
 * which are the definition of what the classes are.
 */
#include <config.h>

#include <errno.h>

#include "helpers.h"
#include "size-class.h"

static const struct {
  unsigned chain, nr_classes, huge_size;
} golden[] = {
  {4, 69, 3264},   {5, 86, 3408},   {6, 93, 3504},   {7, 112, 3584},
  {8, 123, 3632},  {9, 140, 3680},  {10, 143, 3712}, {11, 159, 3744},
  {12, 164, 3776}, {13, 180, 3792}, {14, 183, 3808}, {15, 188, 3840},
  {16, 191, 3840},
};

static struct zs_size_classes
classes_of (unsigned chain)
{
  struct zs_size_classes classes;

  assert_int_equal (zs_size_classes_init (&classes, chain), 0);
  return classes;
}

static void
number_of_classes_and_watermark_are_those_of_the_document (void **state)
{
  size_t i;

  (void) state;
  assert_int_equal (NELEM (golden), ZS_MAX_CHAIN - ZS_MIN_CHAIN + 1);
  for (i = 0; i < NELEM (golden); ++i) {
    struct zs_size_classes classes = classes_of (golden[i].chain);

    print_message ("chain %u: %u classes, huge above %u\n", golden[i].chain,
                   classes.nr_classes, classes.huge_size);
    assert_int_equal (classes.nr_classes, golden[i].nr_classes);
    assert_int_equal (classes.huge_size, golden[i].huge_size);
  }
}

static void
size_1568_wants_5_pages_for_13_objects (void **state)
{
  const unsigned i = (1568 - ZS_MIN_SIZE) / ZS_SIZE_DELTA;
  struct zs_size_classes classes = classes_of (5);

  (void) state;
  assert_int_equal (classes.of[i].size, 1568);
  assert_int_equal (classes.of[i].pages, 5);
  assert_int_equal (classes.of[i].objs, 13);
}

static void
classes_95_to_99_merge_into_100_at_chain_4 (void **state)
{
  struct zs_size_classes classes = classes_of (4);
  unsigned i;

  (void) state;
  assert_int_equal (classes.of[100].size, 1632);
  for (i = 95; i <= 100; ++i)
    assert_int_equal (classes.of[i].merged, 100);
  assert_int_not_equal (classes.of[94].merged, 100);
  assert_int_not_equal (classes.of[101].merged, 100);
}

static void
every_size_has_a_class_that_holds_it (void **state)
{
  size_t chain, size;

  (void) state;
  for (chain = ZS_MIN_CHAIN; chain <= ZS_MAX_CHAIN; ++chain) {
    struct zs_size_classes classes = classes_of (chain);

    for (size = 1; size <= ZSPAGE_PAGE_SIZE; ++size) {
      unsigned i = zs_size_class_index (&classes, size);
      const struct zs_size_class *c = &classes.of[i];

      assert_true (i < ZS_NR_SIZES);
      assert_int_equal (c->merged, i);
      assert_true (c->size >= size);
      assert_int_equal (c->objs, c->pages * ZSPAGE_PAGE_SIZE / c->size);
      assert_in_range (c->pages, 1, chain);
      assert_in_range (c->objs, 1, ZS_MAX_OBJS);
      /* A class above the watermark is one object in one page. */
      assert_int_equal (c->objs == 1, size > classes.huge_size);
      assert_int_equal (i == ZS_HUGE_INDEX, size > classes.huge_size);
    }
  }
}

static void
chain_sizes_outside_4_to_16_are_refused (void **state)
{
  static const unsigned bad[] = {0, 1, 3, 17, 32, 255, 256 + 8, -1u};
  struct zs_size_classes classes;
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (bad); ++i)
    assert_int_equal (zs_size_classes_init (&classes, bad[i]), -EINVAL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (
      number_of_classes_and_watermark_are_those_of_the_document),
    cmocka_unit_test (size_1568_wants_5_pages_for_13_objects),
    cmocka_unit_test (classes_95_to_99_merge_into_100_at_chain_4),
    cmocka_unit_test (every_size_has_a_class_that_holds_it),
    cmocka_unit_test (chain_sizes_outside_4_to_16_are_refused),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
