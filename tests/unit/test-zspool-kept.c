/* SPDX-License-Identifier: BSD-3-Clause */
/* Places for what is being recompressed: pages of a limit that nothing else gets,
 * and free objects of larger classes.
 */
#include <config.h>

#include <errno.h>

#include "pool-fixture.h"

#define NR_CHUNKS 8
#define LIMIT     64u

static struct zs_budget budget;

/* Huge objects until there is no room.  Returns how many. */
static uint32_t
fill (struct pool_fixture *f)
{
  uint32_t n = 0;

  while (pool_put (f, n, ZSPAGE_PAGE_SIZE) == 0)
    n++;
  return n;
}

/* The same, of those that may have what is kept, and free them again. */
static uint32_t
fill_kept (struct pool_fixture *f, int end)
{
  zs_ref refs[2 * LIMIT];
  uint32_t n = 0, all;
  int r;

  while ((r = zs_malloc_kept (f->pool, ZSPAGE_PAGE_SIZE, n, &refs[n])) == 0)
    assert_in_range (++n, 1, NELEM (refs) - 1);
  assert_int_equal (r, end);
  for (all = n; n > 0; --n)
    zs_free (f->pool, refs[n - 1]);
  return all;
}

static void
some_of_a_limit_is_kept (void **state)
{
  /* At most a 16th. */
  static const struct {
    size_t kept, want;
  } rows[] = {{0, 0}, {1, 1}, {3, 3}, {4, 4}, {5, 4}, {SIZE_MAX, 4}};
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (rows); ++i) {
    struct pool_fixture f;
    uint32_t n;

    pool_fixture_init (&f, 8, NR_CHUNKS, 2 * LIMIT, 0);
    zs_set_limit (f.pool, LIMIT);
    zs_set_kept (f.pool, rows[i].kept);
    n = fill (&f);
    assert_int_equal (n, LIMIT - rows[i].want);
    assert_int_equal (fill_kept (&f, -ENOSPC), rows[i].want);
    assert_int_equal (pool_put (&f, n, ZSPAGE_PAGE_SIZE), -ENOSPC);
    pool_check (&f);
    pool_fixture_fini (&f);
  }
}

static void
without_a_limit_nothing_is_kept (void **state)
{
  struct pool_fixture f;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 2 * LIMIT, 0);
  zs_set_kept (f.pool, 4);
  while (pool_stats (&f).pages_used < 2 * LIMIT)
    assert_int_equal (
      pool_put (&f, pool_stats (&f).pages_used, ZSPAGE_PAGE_SIZE), 0);
  pool_fixture_fini (&f);
}

static void
some_of_a_budget_is_kept (void **state)
{
  struct pool_fixture f;

  (void) state;
  budget = (struct zs_budget){.limit = LIMIT};
  pool_fixture_init_budget (&f, 8, NR_CHUNKS, 2 * LIMIT, &budget);
  zs_set_kept (f.pool, 3);
  assert_int_equal (fill (&f), LIMIT - 3);
  assert_int_equal (fill_kept (&f, -EDQUOT), 3);
  pool_fixture_fini (&f);
}

static void
a_free_object_of_a_larger_class_will_do (void **state)
{
  struct pool_fixture f;
  size_t small, large;
  zs_ref ref;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 2, 0);
  assert_int_equal (pool_put (&f, 0, 1000), 0);
  small = zs_class_bytes (f.pool, 100);
  large = zs_class_bytes (f.pool, 1000);
  assert_true (small < large);

  /* Its bound is not below itself; there is no other, and none is made. */
  assert_int_equal (zs_malloc_below (f.pool, 100, large, 1, &ref), -ENOSPC);
  assert_int_equal (zs_malloc_below (f.pool, 1000, SIZE_MAX, 1, &ref), -ENOSPC);
  assert_int_equal (zs_malloc_below (f.pool, 0, SIZE_MAX, 1, &ref), -EINVAL);
  assert_int_equal (zs_malloc_below (f.pool, 100, large + 1, 1, &ref), 0);
  assert_int_equal (pool_where (&f, ref).zspage,
                    pool_where (&f, f.objects[0].ref).zspage);
  assert_true (zs_capacity (f.pool, ref) >= 1000);
  zs_free (f.pool, ref);
  pool_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (some_of_a_limit_is_kept),
    cmocka_unit_test (without_a_limit_nothing_is_kept),
    cmocka_unit_test (some_of_a_budget_is_kept),
    cmocka_unit_test (a_free_object_of_a_larger_class_will_do),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
