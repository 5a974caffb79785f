/* SPDX-License-Identifier: BSD-3-Clause */
/* What a state file says wrongly of a few pages is lost, and nothing else; and
 * what else recovery may meet: slots without objects, objects without slots, no
 * memory, somebody who only looks.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fail-ops.h"
#include "state-fixture.h"

/* A file of a few pages: of text from 0 on, of noise from TEXT on. */
#define TEXT  40
#define NOISE 10

static void
few_pages (struct state_fixture *s, bool has_checks)
{
  struct rng rng = rng_make (8);

  state_fixture_init (
    s, (struct store_params){.nr_pages = 700, .has_checks = has_checks}, false);
  put_pages (s->f.store, 0, TEXT, PAGE_HALF, &rng);
  put_pages (s->f.store, TEXT, NOISE, PAGE_RANDOM, &rng);
  state_fixture_kill (s);
}

/* All but the pages of these two have their content; these are as they are to
 * be.
 */
static void
assert_few_pages (struct state_fixture *s, uint64_t a, bool a_is_there,
                  uint64_t b, bool b_is_there)
{
  struct rng rng = rng_make (8);
  uint8_t want[PAGE], page[PAGE];
  unsigned lost = !a_is_there + (b != a && !b_is_there);
  uint64_t idx;
  int r;

  assert_int_equal (store_recovered (s->f.store).lost, lost);
  assert_int_equal (store_stats_now (s->f.store).lost_pages, lost);
  store_check (s->f.store);
  for (idx = 0; idx < TEXT + NOISE; ++idx) {
    bool there = idx == a ? a_is_there : idx == b ? b_is_there : true;

    page_make (idx < TEXT ? PAGE_HALF : PAGE_RANDOM, &rng, want);
    r = store_read (s->f.store, page, PAGE, idx * PAGE);
    assert_int_equal (r, there ? 0 : -EIO);
    if (there)
      assert_memory_equal (page, want, PAGE);
  }
  rng = rng_make (9);
  put_pages (s->f.store, 0, TEXT + NOISE, PAGE_NOISE, &rng);
  store_check (s->f.store);
}

static void
of_two_slots_with_one_object_its_owner_keeps_it (void **state)
{
  struct state_fixture s;
  int has_checks, order;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks)
    for (order = 0; order < 2; ++order) {
      few_pages (&s, has_checks);
      state_word_set (s.at.path, order ? 30 : 7,
                      state_word (s.at.path, order ? 7 : 30));
      state_fixture_open (&s);
      assert_few_pages (&s, 7, order, 30, !order);
      state_fixture_fini (&s);
    }
}

static void
of_two_slots_with_one_huge_object_both_are_lost (void **state)
{
  struct state_fixture s;
  int has_checks;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    state_word_set (s.at.path, TEXT + 1, state_word (s.at.path, TEXT + 5));
    state_fixture_open (&s);
    assert_few_pages (&s, TEXT + 1, false, TEXT + 5, false);
    state_fixture_fini (&s);
  }
}

static void
what_is_claimed_twice_is_lost_for_good (void **state)
{
  struct state_fixture s;

  (void) state;
  few_pages (&s, false);
  state_word_set (s.at.path, TEXT + 1, state_word (s.at.path, TEXT + 5));
  state_fixture_open (&s);
  state_fixture_kill (&s);
  state_fixture_open (&s);
  assert_int_equal (store_recovered (s.f.store).lost, 0);
  assert_int_equal (store_stats_now (s.f.store).lost_pages, 2);
  state_fixture_fini (&s);
}

/* The slot of page 3, with another reference. */
static void
assert_lost_with_ref (zs_ref ref)
{
  struct state_fixture s;
  int has_checks;

  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    state_word_set (s.at.path, 3,
                    slot_with_ref (state_word (s.at.path, 3), ref));
    state_fixture_open (&s);
    assert_few_pages (&s, 3, false, 3, false);
    state_fixture_fini (&s);
  }
}

static void
a_slot_that_refers_to_no_object_is_lost (void **state)
{
  const uint64_t chunk = ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN;
  const uint64_t page = PAGE / ZSPAGE_OBJECT_ALIGN;
  zs_ref ref;
  struct state_fixture s;

  (void) state;
  few_pages (&s, false);
  ref = slot_ref (state_word (s.at.path, 3));
  state_fixture_fini (&s);

  assert_lost_with_ref (SLOT_REF_MAX); /* beyond the data */
  assert_lost_with_ref (30 * chunk);   /* a chunk that is free */
  assert_lost_with_ref (ref + 1);      /* inside of an object */
  assert_lost_with_ref ((ref / chunk + 1) * chunk - page); /* no memory */
}

static void
punch (const char *path, uint64_t offset)
{
  int fd = open (path, O_RDWR | O_CLOEXEC);

  assert_true (fd >= 0);
  assert_int_equal (
    fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, PAGE),
    0);
  close (fd);
}

static void
a_page_whose_object_has_no_memory_is_lost (void **state)
{
  struct state_fixture s;
  uint64_t at;
  int has_checks;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    at = slot_ref (state_word (s.at.path, TEXT + 2)) * ZSPAGE_OBJECT_ALIGN;
    punch (s.at.path, state_header (s.at.path).data_offset + at);
    state_fixture_open (&s);
    assert_few_pages (&s, TEXT + 2, false, TEXT + 2, false);
    state_fixture_fini (&s);
  }
}

static void
a_slot_of_an_impossible_kind_is_lost (void **state)
{
  static const uint64_t words[] = {
    UINT64_C (1) << 20,                       /* empty, but not 0 */
    SLOT_LZ4 | UINT64_C (1) << 60,            /* lz4 with a dictionary */
    SLOT_ZSTD | UINT64_C (5) << 60 | 99 << 8, /* one that is not there */
    SLOT_FILL_OBJ | 9 << 8,
    SLOT_FILL32,
  };
  struct state_fixture s;
  unsigned i;

  (void) state;
  for (i = 0; i < 2 * NELEM (words); ++i) {
    few_pages (&s, i % 2);
    state_word_set (s.at.path, 3, words[i / 2]);
    state_fixture_open (&s);
    assert_few_pages (&s, 3, false, 3, false);
    state_fixture_fini (&s);
  }
}

static void
a_slot_beyond_the_device_is_emptied (void **state)
{
  struct state_fixture s;
  int has_checks;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    state_fixture_open (&s);
    put_pages (s.f.store, 699, 1, PAGE_FILL, &(struct rng){1});
    state_fixture_kill (&s);
    state_word_set (s.at.path, 700, state_word (s.at.path, 3));
    state_word_set (s.at.path, 1023, SLOT_FILL | 5 << 8);
    state_fixture_open (&s);
    trim_pages (s.f.store, 699, 1);
    assert_few_pages (&s, 3, true, 3, true);
    state_fixture_fini (&s);
  }
}

static void
an_object_without_a_slot_is_freed (void **state)
{
  struct state_fixture s;
  int has_checks;
  uint64_t huge;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    /* Without a check nobody can tell. */
    state_word_set (s.at.path, 3, 0);
    state_word_set (s.at.path, TEXT + 3, 0);
    huge = NOISE - 1;
    state_fixture_open (&s);
    assert_int_equal (store_stats_now (s.f.store).huge_pages, huge);
    assert_int_equal (store_recovered (s.f.store).lost, has_checks ? 2 : 0);
    store_check (s.f.store);
    trim_pages (s.f.store, 0, TEXT + NOISE);
    assert_int_equal (store_stats_now (s.f.store).mem_used_total, 0);
    state_fixture_fini (&s);
  }
}

/* The check of page 3 is not that of its slot. */
static void
a_page_whose_check_is_wrong_is_lost (void **state)
{
  struct state_fixture s;
  struct zspage_check check;
  struct zspage_header h;
  uint8_t page[PAGE];
  uint64_t at;
  int both;

  (void) state;
  for (both = 0; both < 2; ++both) {
    few_pages (&s, true);
    h = state_header (s.at.path);
    at = h.checks_offset + 3 * sizeof check;
    state_peek (s.at.path, at, &check, sizeof check);
    assert_int_equal (check.now, check.before);
    check.now ^= 1;
    check.before ^= both;
    state_poke (s.at.path, at, &check, sizeof check);
    state_fixture_open (&s);
    if (both) /* as the word says nothing of it, it is seen when it is read */
      assert_int_equal (store_read (s.f.store, page, PAGE, 3 * PAGE), -EIO);
    else
      assert_few_pages (&s, 3, true, 3, true);
    state_fixture_fini (&s);
  }
}

/* Where checks say that there was something. */
static void
pages_of_a_table_without_memory_are_lost (void **state)
{
  struct state_fixture s;
  struct zspage_header h;
  uint8_t page[PAGE];
  int has_checks;

  (void) state;
  for (has_checks = 0; has_checks < 2; ++has_checks) {
    few_pages (&s, has_checks);
    h = state_header (s.at.path);
    punch (s.at.path, h.table_offset);
    state_fixture_open (&s);
    assert_int_equal (store_recovered (s.f.store).lost,
                      has_checks ? TEXT + NOISE : 0);
    assert_int_equal (store_read (s.f.store, page, PAGE, 3 * PAGE),
                      has_checks ? -EIO : 0);
    assert_reads_zero (s.f.store, PAGE, (TEXT + NOISE) * PAGE);
    store_check (s.f.store);
    state_fixture_fini (&s);
  }
}

/* Of memory the kernel refuses a little more each time. */
static void
recovery_without_memory_fails_and_harms_nothing (void **state)
{
  struct state_fixture s;
  struct store_config config = {.name = "test", .ops = &fail_arena_ops};
  struct zspage_header h;
  struct state_file file;
  struct store *store;
  char why[STATE_WHY];
  unsigned n, failed = 0;
  int r = -ENOMEM;

  (void) state;
  few_pages (&s, true);
  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &config.codec), 0);
  for (n = 1; r < 0; ++n) {
    h = state_header (s.at.path);
    fail_ops_reset ();
    fail_ops.fail_from = n;
    fail_ops.fail_count = 1;
    assert_int_equal (state_file_open (s.at.path, &h, &file, why), 0);
    config.file = &file;
    r = store_create (&config, &store);
    if (r == 0)
      break;
    assert_int_equal (r, -ENOMEM);
    failed++;
  }
  fail_ops_reset ();
  assert_true (failed >= 3);
  store_destroy (store);
  codec_pool_destroy (config.codec);
  state_fixture_open (&s);
  assert_few_pages (&s, 0, true, 0, true);
  state_fixture_fini (&s);
}

/* A recovery that fails at the last moment that it can, for lack of memory. */
static void
recover_in_vain (struct state_fixture *s)
{
  struct store_config config = {.name = "vain", .ops = &fail_arena_ops};
  struct zspage_header h = state_header (s->at.path);
  struct state_file file;
  struct store *store;
  char why[STATE_WHY];
  unsigned n;
  int r;

  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &config.codec), 0);
  /* The last call that recovery cannot do without is at its very end. */
  for (n = 8; n > 0; --n) {
    fail_ops_reset ();
    fail_ops.fail_from = n;
    fail_ops.fail_count = 100;
    assert_int_equal (state_copy (s->at.path, s->at.copy), 0);
    assert_int_equal (state_file_open (s->at.copy, &h, &file, why), 0);
    config.file = &file;
    r = store_create (&config, &store);
    if (r < 0)
      break;
    store_destroy (store);
  }
  fail_ops_reset ();
  assert_true (n > 0);
  codec_pool_destroy (config.codec);
  assert_int_equal (rename (s->at.copy, s->at.path), 0);
}

/* Of two slots with one huge page, the first was given up when recovery ended. */
static void
of_two_slots_with_one_huge_object_a_kill_between_leaves_none (void **state)
{
  struct state_fixture s;
  uint64_t word;

  (void) state;
  few_pages (&s, false);
  word = state_word (s.at.path, TEXT + 2);
  state_word_set (s.at.path, TEXT + 1, word);
  recover_in_vain (&s);
  assert_int_equal (slot_kind (state_word (s.at.path, TEXT + 2)), SLOT_LOST);
  state_word_set (s.at.path, TEXT + 2, word);
  state_fixture_open (&s);
  assert_int_equal (store_recovered (s.f.store).lost, 1);
  assert_int_equal (store_stats_now (s.f.store).lost_pages, 2);
  state_fixture_fini (&s);
}

static void
nothing_is_changed_by_looking (void **state)
{
  struct state_fixture s;
  struct state_file file;
  struct store_config config = {.name = "look", .is_look = true};
  struct store *store;
  char why[STATE_WHY];
  uint8_t page[PAGE], want[PAGE];
  struct rng rng = rng_make (8);

  (void) state;
  few_pages (&s, true);
  state_word_set (s.at.path, TEXT + 1, state_word (s.at.path, TEXT + 5));
  assert_int_equal (state_copy (s.at.path, s.at.copy), 0);
  assert_int_equal (state_file_open_readonly (s.at.path, &file, why), 0);
  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &config.codec), 0);
  config.file = &file;
  config.disksize = file.header.disksize;
  assert_int_equal (store_create (&config, &store), 0);
  assert_int_equal (store_recovered (store).lost, 2);
  page_make (PAGE_HALF, &rng, want);
  assert_int_equal (store_read (store, page, PAGE, 0), 0);
  assert_memory_equal (page, want, PAGE);
  store_destroy (store);
  codec_pool_destroy (config.codec);
  assert_true (state_is_same (s.at.path, s.at.copy));
  state_fixture_fini (&s);
}

static void
a_budget_counts_what_is_there (void **state)
{
  struct zs_budget budget = {0};
  struct state_fixture s;

  (void) state;
  few_pages (&s, false);
  s.params.budget = &budget;
  state_fixture_open (&s);
  assert_int_equal (budget.used * PAGE,
                    store_stats_now (s.f.store).mem_used_total);
  assert_true (budget.used > 0);
  state_fixture_close (&s);
  assert_int_equal (budget.used, 0);
  state_fixture_fini (&s);
}

/* A bit that says so of a chunk far away costs no memory for all before it. */
static void
a_chunk_without_objects_is_not_in_use (void **state)
{
  const uint64_t nr_pages = UINT64_C (1) << 18;
  struct state_fixture s;
  struct rng rng = rng_make (8);
  struct zspage_header h;
  uint8_t kind;

  (void) state;
  for (kind = 1; kind <= ZSPAGE_CHUNK_HUGE; kind += 8) {
    uint64_t resident, meta;

    state_fixture_init (&s, (struct store_params){.nr_pages = nr_pages}, false);
    put_pages (s.f.store, 0, TEXT, PAGE_HALF, &rng);
    state_fixture_kill (&s);
    state_fixture_open (&s);
    resident = store_stats_now (s.f.store).mem_resident;
    meta = store_stats_now (s.f.store).mem_meta;
    state_fixture_kill (&s);
    h = state_header (s.at.path);
    state_poke (s.at.path,
                h.records_offset + (uint64_t) (h.nr_chunks - 1) *
                                     sizeof (struct zspage_chunk_record),
                &kind, 1);
    state_fixture_open (&s);
    store_check (s.f.store);
    assert_true (store_stats_now (s.f.store).mem_resident <= resident);
    /* But for descriptors. */
    assert_true (store_stats_now (s.f.store).mem_meta <= meta + (256 << 10));
    state_fixture_fini (&s);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_chunk_without_objects_is_not_in_use),
    cmocka_unit_test (of_two_slots_with_one_object_its_owner_keeps_it),
    cmocka_unit_test (of_two_slots_with_one_huge_object_both_are_lost),
    cmocka_unit_test (
      of_two_slots_with_one_huge_object_a_kill_between_leaves_none),
    cmocka_unit_test (what_is_claimed_twice_is_lost_for_good),
    cmocka_unit_test (a_slot_that_refers_to_no_object_is_lost),
    cmocka_unit_test (a_page_whose_object_has_no_memory_is_lost),
    cmocka_unit_test (a_slot_of_an_impossible_kind_is_lost),
    cmocka_unit_test (a_slot_beyond_the_device_is_emptied),
    cmocka_unit_test (an_object_without_a_slot_is_freed),
    cmocka_unit_test (a_page_whose_check_is_wrong_is_lost),
    cmocka_unit_test (pages_of_a_table_without_memory_are_lost),
    cmocka_unit_test (recovery_without_memory_fails_and_harms_nothing),
    cmocka_unit_test (nothing_is_changed_by_looking),
    cmocka_unit_test (a_budget_counts_what_is_there),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
