/* SPDX-License-Identifier: BSD-3-Clause */
/* Random operations on a store, compared with a plain array after each one:
 * writes, reads, trims, zeroes, extents, compaction, limits that come and go,
 * memory that fails.  ZSPAGE_OPS sets how many, ZSPAGE_SEED which.
 */
#include <config.h>

#include <stdlib.h>

#include "store-fixture.h"
#include "store-model.h"

#define MAX_LEN (256 * 1024u)
/* Several pages of the table, the last of them not full. */
#define NR_PAGES (7 * 512 + 123)

struct player {
  struct store_fixture f;
  struct store_model m;
  struct rng rng;
  uint8_t data[MAX_LEN + PAGE];
};

/* Small lengths are more likely; half of all are whole pages. */
static size_t
random_len (struct player *p, uint64_t *offset)
{
  static const size_t max[] = {PAGE, 4 * PAGE, 32 * 1024, MAX_LEN};
  size_t len = rng_range (&p->rng, 1, max[rng_below (&p->rng, 4)]);

  *offset = rng_below (&p->rng, p->m.bytes);
  if (rng_one_in (&p->rng, 2)) {
    *offset = *offset / PAGE * PAGE;
    len = zspage_align_up (len, PAGE);
  }
  if (len > p->m.bytes - *offset)
    len = p->m.bytes - *offset;
  return len;
}

static const char *
random_write (struct player *p)
{
  enum page_kind kind = rng_below (&p->rng, PAGE_KINDS);
  bool mixed = rng_one_in (&p->rng, 2);
  uint64_t offset;
  size_t i, len = random_len (p, &offset);

  for (i = 0; i < len; i += PAGE) {
    if (mixed)
      kind = rng_below (&p->rng, PAGE_KINDS);
    page_make (kind, &p->rng, p->data + i);
  }
  /* Also where data do not start on a page. */
  i = rng_below (&p->rng, PAGE);
  return model_write (&p->m, p->data + (mixed ? i : 0), len, offset);
}

static const char *
random_discard (struct player *p)
{
  uint64_t offset;
  size_t len = random_len (p, &offset);

  /* Now and then as a guest does it, and everything. */
  if (rng_one_in (&p->rng, 4)) {
    offset = rng_below (&p->rng, NR_PAGES / 512) * 512 * PAGE;
    len = 512 * PAGE;
  }
  else if (rng_one_in (&p->rng, 500)) {
    offset = 0;
    len = p->m.bytes;
  }
  return rng_one_in (&p->rng, 2) ? model_trim (&p->m, len, offset)
                                 : model_zero (&p->m, len, offset);
}

static const char *
random_limit (struct player *p)
{
  uint64_t used = store_stats_now (p->f.store).mem_used_total;
  uint64_t limit = 0;

  if (rng_one_in (&p->rng, 2))
    limit = rng_range (&p->rng, 1, used + used / 2 + 10);
  return model_limit (&p->m, limit);
}

static void
random_failures (struct player *p)
{
  fail_ops.fail_one_in =
    rng_one_in (&p->rng, 2) ? rng_range (&p->rng, 1, 20) : 0;
  fail_ops.fail_releases = rng_one_in (&p->rng, 10);
  /* Failures of both kinds at once for ever are a test of their own. */
  if (fail_ops.fail_releases)
    fail_ops.fail_one_in = 0;
}

static const char *
one_op (struct player *p)
{
  uint64_t r = rng_below (&p->rng, 1000), offset;
  size_t len;

  if (r < 500)
    return random_write (p);
  if (r < 800) {
    len = random_len (p, &offset);
    return model_read (&p->m, len, offset);
  }
  if (r < 940)
    return random_discard (p);
  if (r < 980) {
    len = random_len (p, &offset);
    return model_extents (&p->m, len, offset);
  }
  if (r < 988)
    return model_compact (&p->m);
  if (r < 995)
    return random_limit (p);
  random_failures (p);
  return NULL;
}

static const char *
check_all (struct player *p)
{
  const char *why = store_check_why (p->f.store);

  return why ? why : model_check (&p->m);
}

static void
play (enum codec_id codec, unsigned chain_size, uint64_t stream, size_t nr_ops)
{
  struct player *p = malloc (sizeof *p);
  const char *why = NULL;
  size_t op;

  assert_non_null (p);
  p->rng = rng_make (stream);
  rng_bytes (&p->rng, p->data, sizeof p->data);
  store_fixture_init (&p->f, (struct store_params){.nr_pages = NR_PAGES,
                                                   .chain_size = chain_size,
                                                   .reserve_pages = 8,
                                                   .codec = codec});
  assert_int_equal (store_model_init (&p->m, p->f.store), 0);

  for (op = 0; op < nr_ops && why == NULL; ++op) {
    p->m.may_fail =
      store_stats_now (p->f.store).mem_limit > 0 || fail_ops.fail_one_in > 0;
    why = one_op (p);
    if (why == NULL && op % 2000 == 1999)
      why = check_all (p);
  }
  if (why == NULL)
    why = check_all (p);
  if (why)
    fail_msg ("%s, chain %u, ZSPAGE_SEED=%llu, operation %zu: %s",
              codec_name (codec), chain_size, (unsigned long long) test_seed (),
              op, why);
  print_message ("%s, chain %u: %zu operations, %u failed as they may\n",
                 codec_name (codec), chain_size, op, (unsigned) p->m.failed);
  store_model_fini (&p->m);
  store_fixture_fini (&p->f);
  free (p);
}

static void
agrees_with_an_array (void **state)
{
  static const unsigned chains[] = {4, 8, 16};
  size_t i, n = test_ops (72000) / (CODEC_COUNT * NELEM (chains)) + 1;
  int codec;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec)
    for (i = 0; i < NELEM (chains); ++i)
      play (codec, chains[i], 10 * codec + i, n);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (agrees_with_an_array),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
