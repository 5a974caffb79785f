/* SPDX-License-Identifier: BSD-3-Clause */
/* What is stored changes its nature over time: one page in 64 stays from each
 * period, the others are overwritten with pages that compress less well.  The
 * few that stay must not keep so much of the arena for their kind of zspage
 * that nothing is left for others, while the host has memory.
 */
#include <config.h>

#include "store-fixture.h"

#define NR_PAGES   8192u /* 16 chunks */
#define ONE_STAYS  64u
#define MAX_PHASES (ZS_MAX_CHAIN + 1)

/* The largest size of each chain length, ascending, and 4096. */
static unsigned
sizes_of_kinds (unsigned chain_size, unsigned sizes[MAX_PHASES])
{
  bool seen[ZS_MAX_CHAIN + 1] = {false};
  unsigned largest[MAX_PHASES], n = 0, i;
  struct zs_size_classes classes;

  assert_int_equal (zs_size_classes_init (&classes, chain_size), 0);
  for (i = ZS_NR_SIZES; i > 0; --i) {
    const struct zs_size_class *c = &classes.of[i - 1];

    if (c->merged != i - 1 || (c->objs > 1 && seen[c->pages]))
      continue;
    seen[c->pages] |= c->objs > 1;
    largest[n++] = c->size;
  }
  for (i = 0; i < n; ++i)
    sizes[i] = largest[n - 1 - i];
  return n;
}

static void
drift (unsigned chain_size)
{
  unsigned sizes[MAX_PHASES];
  unsigned n = sizes_of_kinds (chain_size, sizes), phase;
  struct rng rng = rng_make (chain_size);
  struct store_fixture f;
  uint8_t page[PAGE];
  uint32_t i;

  store_fixture_init (
    &f, (struct store_params){.nr_pages = NR_PAGES, .chain_size = chain_size});
  for (phase = 0; phase < n; ++phase) {
    for (i = 0; i < NR_PAGES; ++i) {
      if (i % ONE_STAYS < phase)
        continue;
      page_make_noise (&rng, sizes[phase] == PAGE ? PAGE : sizes[phase] - 50,
                       page);
      if (store_write (f.store, page, PAGE, (uint64_t) i * PAGE) < 0)
        fail_msg ("chain %u: pages of %u bytes, after %u other sizes: no "
                  "room, with %u%% of the device's size in use and no limit",
                  chain_size, sizes[phase], phase,
                  (unsigned) (100 * store_stats_now (f.store).mem_used_total /
                              (NR_PAGES * PAGE)));
    }
  }
  store_fixture_fini (&f);
}

static void
drifting_sizes_do_not_run_out_of_arena (void **state)
{
  (void) state;
  drift (4);
  drift (8);
  drift (16);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (drifting_sizes_do_not_run_out_of_arena),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
