/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a device that has dictionaries, tick by tick: a sample, training,
 * and what was not used recompressed, within its share of the processor.
 */
#include <config.h>

#include <stdlib.h>

#include "chore.h"
#include "dictionary-pages.h"
#include "store-fixture.h"

#define NR_PAGES    4096
#define INTERVAL_MS 5000
#define MANY_SLICES 100000
/* Ticks between two passes, and a few. */
#define PASS_TICKS (POLICY_PASS_MS / INTERVAL_MS + 2)

struct device {
  struct store_fixture f;
  struct codec_pool *strong;
  struct store *store;
  struct chore chore;
  unsigned nr_samples;
  struct rng rng;
};

static void
device_init (struct device *d, unsigned recompress_cpu)
{
  d->nr_samples = 0;
  assert_int_equal (codec_pool_create (CODEC_ZSTD, 6, 1, &d->strong), 0);
  store_fixture_init (&d->f, (struct store_params){.nr_pages = NR_PAGES,
                                                   .codec = CODEC_ZSTD,
                                                   .strong = d->strong});
  d->store = d->f.store;
  d->rng = rng_make (1);
  chore_init (&d->chore, d->store, true,
              &(struct chore_config){.interval_ms = INTERVAL_MS,
                                     .recompress_cpu = recompress_cpu,
                                     .nr_samples = &d->nr_samples});
}

static void
device_fini (struct device *d)
{
  chore_fini (&d->chore);
  store_fixture_fini (&d->f);
  codec_pool_destroy (d->strong);
}

static void
put_records (struct device *d, uint64_t n)
{
  uint8_t page[PAGE];
  uint64_t idx;

  for (idx = 0; idx < n; ++idx) {
    page_of_records (&d->rng, 0, page);
    put_page (d->store, idx, page);
  }
}

static void
assert_records (struct device *d, uint64_t n)
{
  struct rng again = rng_make (1);
  uint8_t page[PAGE];
  uint64_t idx;

  for (idx = 0; idx < n; ++idx) {
    page_of_records (&again, 0, page);
    assert_content (d->store, page, PAGE, idx * PAGE);
  }
}

/* A tick, and what is due then; training, if there is a sample.  Returns how
 * many slices there were.
 */
static unsigned
tick (struct device *d)
{
  uint64_t pages;
  unsigned n;

  chore_tick (&d->chore);
  for (n = 0; chore_is_due (&d->chore); ++n) {
    assert_in_range (n, 0, MANY_SLICES);
    chore_slice (&d->chore);
  }
  if (d->chore.sample && d->chore.sample_is_ready) {
    struct training t = {
      .store = d->store,
      .level = store_dictionary_level (d->store),
      .judge_level = store_strong_level (d->store),
      .pages = d->chore.sample,
      .nr_pages = d->chore.nr_sample,
      .now = store_dictionary (d->store, store_generation (d->store), &pages)};

    trainer_run (&t);
    chore_trained (&d->chore, t.dictionary);
  }
  return n;
}

static void
ticks (struct device *d, unsigned n)
{
  while (n-- > 0)
    tick (d);
}

static void
a_dictionary_is_trained_and_pages_are_recompressed_once (void **state)
{
  struct device d;
  struct store_stats s;
  uint64_t before;

  (void) state;
  device_init (&d, 100);
  put_records (&d, 3000);
  before = store_stats_now (d.store).mem_used_total;
  tick (&d);
  s = store_stats_now (d.store);
  assert_int_equal (s.generation, 1);
  assert_int_equal (s.dictionary_pages, 0);
  assert_null (d.chore.sample);

  /* They become old in one pass, and are done in the next. */
  ticks (&d, PASS_TICKS);
  ticks (&d, PASS_TICKS);
  s = store_stats_now (d.store);
  assert_int_equal (s.recompress_won, 3000);
  assert_int_equal (s.dictionary_pages, 3000);
  assert_true (s.mem_used_total < before * 3 / 4);
  assert_int_equal (s.freeable, 0);
  assert_records (&d, 3000);

  /* Reading made them new; but they are done. */
  ticks (&d, 3 * PASS_TICKS);
  assert_int_equal (store_stats_now (d.store).recompress_tried, 3000);
  device_fini (&d);
}

static void
few_pages_teach_nothing (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 100);
  put_records (&d, POLICY_TRAIN_PAGES - 1);
  ticks (&d, 20);
  assert_int_equal (store_stats_now (d.store).generation, 0);
  assert_int_equal (store_stats_now (d.store).recompress_tried, 0);
  device_fini (&d);
}

static void
a_dictionary_that_gains_nothing_is_not_kept (void **state)
{
  struct device d;
  struct store_stats s;
  uint64_t bytes;

  (void) state;
  device_init (&d, 100);
  put_records (&d, 3000);
  tick (&d);
  s = store_stats_now (d.store);
  assert_int_equal (s.generation, 1);
  bytes = s.dictionary_bytes;
  chore_begin (&d.chore, &(struct chore_order){.job = JOB_TRAIN});
  tick (&d);
  assert_null (d.chore.sample);
  s = store_stats_now (d.store);
  assert_int_equal (s.generation, 1);
  assert_int_equal (s.dictionary_bytes, bytes);
  device_fini (&d);
}

static void
pages_in_use_are_left_alone (void **state)
{
  struct device d;
  unsigned i;

  (void) state;
  device_init (&d, 100);
  put_records (&d, 3000);
  for (i = 0; i < 3 * PASS_TICKS; ++i) {
    tick (&d);
    assert_records (&d, 1000);
  }
  assert_int_equal (store_stats_now (d.store).recompress_won, 2000);
  device_fini (&d);
}

static void
not_during_a_burst (void **state)
{
  struct device d;
  uint64_t idx = 3000;
  unsigned i;

  (void) state;
  device_init (&d, 100);
  put_records (&d, 3000);
  tick (&d);
  assert_int_equal (store_stats_now (d.store).generation, 1);
  for (i = 0; i < 4; ++i, idx += 256) {
    put_pages (d.store, idx, 256, PAGE_TEXT, &d.rng);
    d.chore.policy.pass_at_ms = 0; /* as if it were time */
    tick (&d);
  }
  assert_int_equal (store_stats_now (d.store).recompress_tried, 0);
  device_fini (&d);
}

static void
it_takes_no_more_than_its_share (void **state)
{
  struct device d;
  uint64_t allowed = INTERVAL_MS * UINT64_C (10000) * 1, ns, last = 0;
  unsigned i, busy = 0;

  (void) state;
  device_init (&d, 1);
  put_records (&d, NR_PAGES);
  for (i = 0; i < 4 * PASS_TICKS; ++i) {
    tick (&d);
    ns = store_stats_now (d.store).recompress_ns;
    busy += ns > last;
    last = ns;
    /* The last slice may pass it, and pays back. */
    assert_true (ns <= (i + 1) * allowed + allowed / 4);
  }
  assert_true (busy > 2);
  device_fini (&d);
}

static void
none_of_the_processor_is_none (void **state)
{
  struct device d;

  (void) state;
  device_init (&d, 0);
  put_records (&d, 3000);
  ticks (&d, 3 * PASS_TICKS);
  assert_int_equal (store_stats_now (d.store).generation, 1);
  assert_int_equal (store_stats_now (d.store).recompress_tried, 0);
  device_fini (&d);
}

static void
a_reset_forgets_what_was_learnt (void **state)
{
  struct device d;
  unsigned i;

  (void) state;
  /* With a dictionary; and while one is trained. */
  for (i = 0; i < 2; ++i) {
    device_init (&d, 100);
    put_records (&d, 3000);
    if (i == 0) {
      ticks (&d, 3 * PASS_TICKS);
      assert_int_equal (store_stats_now (d.store).generation, 1);
    }
    else {
      chore_tick (&d.chore);
      while (!d.chore.sample_is_ready)
        chore_slice (&d.chore);
    }
    chore_begin (&d.chore, &(struct chore_order){.job = JOB_RESET});
    while (chore_is_due (&d.chore))
      chore_slice (&d.chore);
    if (i == 1)
      chore_trained (&d.chore, dictionary_of_records (0, 3));
    chore_tick (&d.chore);
    assert_null (d.chore.sample);
    assert_int_equal (store_stats_now (d.store).generation, 0);
    assert_int_equal (store_stats_now (d.store).dictionary_bytes, 0);
    assert_int_equal (store_stats_now (d.store).recompress_tried, 0);
    /* And it learns again. */
    d.rng = rng_make (1);
    put_records (&d, 3000);
    tick (&d);
    assert_int_equal (store_stats_now (d.store).generation, 1);
    assert_records (&d, 3000);
    device_fini (&d);
  }
}

/* Who trains compares with it. */
static void
a_reset_leaves_the_newest_to_a_training (void **state)
{
  struct device d;
  uint64_t pages;

  (void) state;
  device_init (&d, 100);
  put_records (&d, 3000);
  tick (&d);
  assert_int_equal (store_stats_now (d.store).generation, 1);
  chore_begin (&d.chore, &(struct chore_order){.job = JOB_TRAIN});
  while (!d.chore.sample_is_ready)
    chore_slice (&d.chore);
  chore_begin (&d.chore, &(struct chore_order){.job = JOB_RESET});
  while (chore_is_due (&d.chore))
    chore_slice (&d.chore);
  chore_tick (&d.chore);
  assert_int_equal (store_stats_now (d.store).generation, 0);
  assert_non_null (store_dictionary (d.store, 1, &pages));
  chore_trained (&d.chore, NULL);
  chore_tick (&d.chore);
  assert_null (store_dictionary (d.store, 1, &pages));
  device_fini (&d);
}

/* By hand, also while it goes on by itself, and while a dictionary comes. */
static void
what_is_ordered_is_done (void **state)
{
  struct chore_order order = {.job = JOB_RECOMPRESS, .max_pages = 100};
  struct device d;
  unsigned i;

  (void) state;
  device_init (&d, 0);
  put_records (&d, 3000);
  chore_begin (&d.chore, &order);
  assert_true (chore_is_at (&d.chore, JOB_RECOMPRESS));
  while (chore_is_due (&d.chore))
    chore_slice (&d.chore);
  assert_false (chore_is_at (&d.chore, JOB_RECOMPRESS));
  assert_int_equal (store_stats_now (d.store).recompress_tried, 100);
  order.max_pages = UINT64_MAX;
  chore_begin (&d.chore, &order);
  for (i = 0; i < 100; ++i)
    chore_slice (&d.chore);
  chore_trained (&d.chore, dictionary_of_records (0, 3));
  while (chore_is_due (&d.chore))
    chore_slice (&d.chore);
  assert_int_equal (store_stats_now (d.store).recompress_tried, 3000);
  assert_true (store_stats_now (d.store).dictionary_pages > 2000);
  assert_int_equal (store_stats_now (d.store).settled_pages, 3000);
  assert_records (&d, 3000);
  device_fini (&d);
}

/* The policy alone. */

static struct policy_decision
at (struct policy_state *state, uint64_t coded, uint64_t elapsed_ms)
{
  const struct policy_figures f = {.pages_stored = 1000,
                                   .pages_coded = coded,
                                   .pages_open = coded,
                                   .elapsed_ms = elapsed_ms};

  return policy_tick (state, &f);
}

static void
what_is_new_is_learnt_before_a_pass (void **state)
{
  struct policy_state s = {0};
  struct policy_decision d;

  (void) state;
  assert_true (at (&s, 3000, 1000).train);
  policy_trained (&s, true);
  d = at (&s, 6000, 1000);
  assert_true (d.train && !d.recompress);
  d = at (&s, 6000, 1000);
  assert_true (!d.train && !d.recompress); /* it is going on */
  policy_trained (&s, true);
  d = at (&s, 6000, 1000);
  assert_true (!d.train && d.recompress);
  /* A fifth more is less than what is worth it. */
  d = at (&s, 7000, POLICY_PASS_MS);
  assert_true (!d.train && d.recompress);
  d = at (&s, 9000, POLICY_PASS_MS);
  assert_true (d.train && !d.recompress);
}

static void
training_in_vain_becomes_rare (void **state)
{
  struct policy_state s = {0};
  uint64_t wait = 0, expected = POLICY_TRAIN_VAIN_MS;
  unsigned i;

  (void) state;
  assert_true (at (&s, 5000, 1000).train);
  /* Not again while it is going on. */
  assert_false (at (&s, 5000, 1000).train);
  policy_trained (&s, false);
  for (i = 0; i < 10; ++i, wait = 0) {
    do
      wait += 1000;
    while (!at (&s, 5000, 1000).train);
    assert_in_range (wait, expected, expected + 1000);
    policy_trained (&s, false);
    expected =
      expected * 2 < 2 * POLICY_TRAIN_LONGEST_MS ? expected * 2 : expected;
  }
  /* Unless there is much more to learn from. */
  assert_false (at (&s, 5000, 1000).train);
  assert_true (at (&s, 20000, 1000).train);
  policy_trained (&s, true);
  assert_false (at (&s, 20000, POLICY_TRAIN_AGAIN_MS - 1000).train);
  assert_true (at (&s, 20000, 1000).train);
}

static void
memory_is_short_from_half_of_a_limit_on (void **state)
{
  static const struct {
    uint64_t used, all_used;
    bool dense;
  } moments[] = {{0, 0, false},   {499, 0, false}, {500, 0, true},
                 {400, 0, true},  {399, 0, false}, {499, 0, false},
                 {0, 1000, true}, {0, 800, true},  {0, 799, false}};
  struct policy_state s = {0};
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (moments); ++i) {
    const struct policy_figures f = {.pages_used = moments[i].used,
                                     .pages_limit = 1000,
                                     .all_used = moments[i].all_used,
                                     .all_limit = 2000};

    assert_int_equal (policy_tick (&s, &f).dense, moments[i].dense);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_dictionary_is_trained_and_pages_are_recompressed_once),
    cmocka_unit_test (few_pages_teach_nothing),
    cmocka_unit_test (a_dictionary_that_gains_nothing_is_not_kept),
    cmocka_unit_test (pages_in_use_are_left_alone),
    cmocka_unit_test (not_during_a_burst),
    cmocka_unit_test (it_takes_no_more_than_its_share),
    cmocka_unit_test (none_of_the_processor_is_none),
    cmocka_unit_test (a_reset_forgets_what_was_learnt),
    cmocka_unit_test (memory_is_short_from_half_of_a_limit_on),
    cmocka_unit_test (a_reset_leaves_the_newest_to_a_training),
    cmocka_unit_test (what_is_ordered_is_done),
    cmocka_unit_test (what_is_new_is_learnt_before_a_pass),
    cmocka_unit_test (training_in_vain_becomes_rare),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
