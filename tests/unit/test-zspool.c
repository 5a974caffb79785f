/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of a zs_pool: allocating, freeing, finding, counting.  What happens
 * when memory is short is in test-zspool-memory.c.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool-fixture.h"

#define NR_CHUNKS 64

static const unsigned chains[] = {4, 8, 16};

static void
every_length_is_stored_and_freed (void **state)
{
  size_t c;
  uint32_t len;

  (void) state;
  for (c = 0; c < NELEM (chains); ++c) {
    struct pool_fixture f;

    pool_fixture_init (&f, chains[c], NR_CHUNKS, ZSPAGE_PAGE_SIZE + 1, 0);
    for (len = 1; len <= ZSPAGE_PAGE_SIZE; ++len)
      assert_int_equal (pool_put (&f, len, len), 0);
    pool_check (&f);
    for (len = 1; len <= ZSPAGE_PAGE_SIZE; ++len)
      pool_drop (&f, len);
    assert_int_equal (pool_stats (&f).pages_used, 0);
    assert_int_equal (pool_stats (&f).freeable_pages, 0);
    pool_fixture_fini (&f);
  }
}

static void
lengths_outside_1_to_4096_are_refused (void **state)
{
  static const size_t bad[] = {0, ZSPAGE_PAGE_SIZE + 1, SIZE_MAX,
                               SIZE_MAX - ZSPAGE_OBJECT_HEADER};
  struct pool_fixture f;
  zs_ref ref;
  size_t i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 1, 0);
  for (i = 0; i < NELEM (bad); ++i)
    assert_int_equal (zs_malloc (f.pool, bad[i], 0, &ref), -EINVAL);
  assert_int_equal (pool_stats (&f).pages_used, 0);
  pool_fixture_fini (&f);
}

static void
above_max_payload_an_object_is_alone_in_its_page (void **state)
{
  size_t c;

  (void) state;
  for (c = 0; c < NELEM (chains); ++c) {
    struct pool_fixture f;
    size_t max;

    pool_fixture_init (&f, chains[c], NR_CHUNKS, 2, 0);
    max = zs_max_payload (f.pool);
    assert_int_equal (pool_put (&f, 0, max + 1), 0);
    assert_int_equal (pool_where (&f, f.objects[0].ref).class, -1);
    assert_int_equal (zs_capacity (f.pool, f.objects[0].ref), ZSPAGE_PAGE_SIZE);
    assert_int_equal (pool_stats (&f).pages_used, 1);
    assert_int_equal (
      (uintptr_t) zs_map (f.pool, f.objects[0].ref) % ZSPAGE_PAGE_SIZE, 0);
    assert_int_equal (pool_put (&f, 1, max), 0);
    assert_int_not_equal (pool_where (&f, f.objects[1].ref).class, -1);
    pool_fixture_fini (&f);
  }
}

/* What zs_class_stats should say, from the record of objects alone. */
static void
check_class_stats (const struct pool_fixture *f, unsigned chain)
{
  const size_t nr_zspages = (size_t) NR_CHUNKS * ZSPAGE_CHUNK_PAGES;
  uint16_t *in_use = calloc (nr_zspages, sizeof *in_use);
  int *class_of = calloc (nr_zspages, sizeof *class_of);
  struct zs_size_classes classes;
  struct zs_class_stats want[ZS_NR_SIZES], got;
  size_t i, freeable = 0, pages = 0;

  zs_size_classes_init (&classes, chain);
  memset (want, 0, sizeof want);
  for (i = 0; i < f->nr_objects; ++i) {
    if (f->objects[i].len > 0) {
      struct where w = pool_where (f, f->objects[i].ref);

      in_use[w.zspage]++;
      class_of[w.zspage] = w.class == -1 ? (int) ZS_HUGE_INDEX : w.class;
    }
  }
  for (i = 0; i < nr_zspages; ++i) {
    const struct zs_size_class *c = &classes.of[class_of[i]];
    struct zs_class_stats *s = &want[class_of[i]];

    if (in_use[i] == 0)
      continue;
    s->groups[in_use[i] == c->objs ? 10 : in_use[i] * 100 / c->objs / 10]++;
    s->obj_allocated += c->objs;
    s->obj_used += in_use[i];
    s->pages_used += c->pages;
  }
  for (i = 0; i < ZS_NR_SIZES; ++i) {
    const struct zs_size_class *c = &classes.of[i];

    assert_int_equal (zs_class_stats (f->pool, i, &got), c->merged == i);
    if (c->merged != i)
      continue;
    want[i].freeable =
      (want[i].obj_allocated - want[i].obj_used) / c->objs * c->pages;
    assert_int_equal (got.index, i);
    assert_int_equal (got.size, c->size);
    assert_int_equal (got.pages_per_zspage, c->pages);
    assert_memory_equal (got.groups, want[i].groups, sizeof got.groups);
    assert_int_equal (got.obj_allocated, want[i].obj_allocated);
    assert_int_equal (got.obj_used, want[i].obj_used);
    assert_int_equal (got.pages_used, want[i].pages_used);
    assert_int_equal (got.freeable, want[i].freeable);
    freeable += got.freeable;
    pages += got.pages_used;
  }
  assert_int_equal (zs_freeable_pages (f->pool), freeable);
  assert_int_equal (pool_stats (f).freeable_pages, freeable);
  assert_int_equal (pool_stats (f).pages_used, pages);
  free (in_use);
  free (class_of);
}

static void
random_puts_and_drops_agree_with_a_model (void **state)
{
  size_t c, op, nr_ops = test_scaled (60000);

  (void) state;
  for (c = 0; c < NELEM (chains); ++c) {
    struct pool_fixture f;
    struct rng rng = rng_make (c);
    unsigned live_percent = 50;

    pool_fixture_init (&f, chains[c], NR_CHUNKS, 8000, 4);
    for (op = 0; op < nr_ops; ++op) {
      uint32_t owner = rng_below (&rng, f.nr_objects);

      /* The pool grows and shrinks. */
      if (op % 5000 == 0)
        live_percent = rng_range (&rng, 5, 95);
      if (f.objects[owner].len > 0) {
        if (rng_below (&rng, 100) >= live_percent)
          pool_drop (&f, owner);
      }
      else if (rng_below (&rng, 100) < live_percent)
        assert_int_equal (
          pool_put (&f, owner, rng_range (&rng, 1, ZSPAGE_PAGE_SIZE)), 0);
      if (op % (nr_ops / 6 + 1) == 0) {
        check_class_stats (&f, chains[c]);
        pool_check (&f);
      }
    }
    check_class_stats (&f, chains[c]);
    assert_false (
      zs_class_stats (f.pool, ZS_NR_SIZES, &(struct zs_class_stats){0}));
    pool_fixture_fini (&f);
  }
}

static void
allocation_takes_from_the_fullest_zspage (void **state)
{
  struct pool_fixture f;
  struct where w;
  uint32_t i, objs;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 1000, 0);
  /* Three zspages of one class. */
  assert_int_equal (pool_put (&f, 0, 1564), 0);
  w = pool_where (&f, f.objects[0].ref);
  objs = w.pages * ZSPAGE_PAGE_SIZE / 1568;
  for (i = 1; i < 3 * objs; ++i)
    assert_int_equal (pool_put (&f, i, 1564), 0);
  /* One free object in the second, two in the others. */
  pool_drop (&f, 0);
  pool_drop (&f, 1);
  pool_drop (&f, objs);
  pool_drop (&f, 2 * objs);
  pool_drop (&f, 2 * objs + 1);
  assert_int_equal (pool_put (&f, 999, 1564), 0);
  assert_int_equal (pool_where (&f, f.objects[999].ref).zspage,
                    pool_where (&f, f.objects[objs + 1].ref).zspage);
  pool_fixture_fini (&f);
}

/* A pool with objects of many sizes, some of them dropped. */
static void
fill_somehow (struct pool_fixture *f, struct rng *rng)
{
  uint32_t i;

  for (i = 0; i < f->nr_objects; ++i)
    assert_int_equal (pool_put (f, i, rng_range (rng, 1, ZSPAGE_PAGE_SIZE)), 0);
  for (i = 0; i < f->nr_objects; i += 2)
    pool_drop (f, i);
}

static void
references_outside_the_chunks_are_not_plausible (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (5);
  zs_ref end = (zs_ref) NR_CHUNKS * ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN;
  int i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 2000, 0);
  fill_somehow (&f, &rng);
  assert_false (zs_ref_is_plausible (f.pool, end, 1, 0));
  assert_false (zs_ref_is_plausible (f.pool, SLOT_REF_MAX, 1, 0));
  assert_false (zs_ref_is_plausible (f.pool, UINT64_MAX, 1, 0));
  assert_false (zs_ref_is_plausible (f.pool, end - 1, 1, 0));
  for (i = 0; i < 10000; ++i)
    assert_false (zs_ref_is_plausible (f.pool,
                                       end + rng_below (&rng, UINT64_MAX - end),
                                       100, rng_below (&rng, f.nr_objects)));
  pool_fixture_fini (&f);
}

static void
another_owner_or_a_bad_length_is_not_plausible (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (6);
  uint32_t i;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 2000, 0);
  fill_somehow (&f, &rng);
  for (i = 1; i < f.nr_objects; i += 2) {
    const struct object *o = &f.objects[i];

    assert_false (zs_ref_is_plausible (f.pool, o->ref, 0, i));
    assert_false (zs_ref_is_plausible (f.pool, o->ref, 4097, i));
    assert_false (zs_ref_is_plausible (f.pool, o->ref, o->len, i + 1));
    assert_false (zs_ref_is_plausible (f.pool, o->ref + 1, o->len, i));
  }
  pool_fixture_fini (&f);
}

/* Chunks in use have pages without memory, which must not be touched: here
 * that is a fault, in an arena it would allocate them.
 */
static void
checking_garbage_touches_no_memory_that_is_not_there (void **state)
{
  struct pool_fixture f;
  struct rng rng = rng_make (7);
  zs_ref ref;

  (void) state;
  pool_fixture_init (&f, 8, NR_CHUNKS, 2000, 0);
  fill_somehow (&f, &rng);
  zs_trim_stock (f.pool, 0);
  for (ref = 0;
       ref < (zs_ref) NR_CHUNKS * ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN;
       ref += 1 + rng_below (&rng, 50))
    zs_ref_is_plausible (f.pool, ref, 1 + rng_below (&rng, 4096),
                         rng_below (&rng, f.nr_objects));
  pool_fixture_fini (&f);
}

static void
pool_create_refuses_bad_configurations (void **state)
{
  static const unsigned bad_chains[] = {0, 3, 17, 1000};
  struct pool_fixture f;
  struct zs_config config = {.chain_size = 8, .nr_chunks = 0};
  struct zs_pool *pool;
  size_t i;

  (void) state;
  assert_int_equal (zs_pool_create (&config, &pool), -EINVAL);
  config.nr_chunks = UINT32_MAX;
  assert_int_equal (zs_pool_create (&config, &pool), -EINVAL);
  pool_fixture_init (&f, 8, 4, 1, 0);
  config.nr_chunks = 4;
  config.data = f.os.data;
  config.records = f.os.records;
  for (i = 0; i < NELEM (bad_chains); ++i) {
    config.chain_size = bad_chains[i];
    assert_int_equal (zs_pool_create (&config, &pool), -EINVAL);
  }
  pool_fixture_fini (&f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (every_length_is_stored_and_freed),
    cmocka_unit_test (lengths_outside_1_to_4096_are_refused),
    cmocka_unit_test (above_max_payload_an_object_is_alone_in_its_page),
    cmocka_unit_test (random_puts_and_drops_agree_with_a_model),
    cmocka_unit_test (allocation_takes_from_the_fullest_zspage),
    cmocka_unit_test (references_outside_the_chunks_are_not_plausible),
    cmocka_unit_test (another_owner_or_a_bad_length_is_not_plausible),
    cmocka_unit_test (checking_garbage_touches_no_memory_that_is_not_there),
    cmocka_unit_test (pool_create_refuses_bad_configurations),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
