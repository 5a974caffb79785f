/* SPDX-License-Identifier: BSD-3-Clause */
/* A store for tests; see store-fixture.h. */
#include <config.h>

#include <stdlib.h>

#include "layout.h"
#include "store-fixture.h"
#include "store-internal.h"
#include "zspool-internal.h"

/* The file of that path; it is made if there is none. */
static void
state_file_get (const char *path, const struct store_config *config,
                struct state_file *file)
{
  struct zspage_header wanted;
  char why[STATE_WHY];
  int r = layout_init (&wanted, config->disksize, config->chain_size,
                       config->has_checks);

  assert_int_equal (r, 0);
  r = state_file_open (path, &wanted, file, why);
  if (r < 0)
    fail_msg ("%s", why);
}

void
store_fixture_init (struct store_fixture *f, struct store_params params)
{
  struct store_config config = {
    .name = "test",
    .disksize = (params.nr_pages ? params.nr_pages : 1024) * PAGE,
    .mem_limit = params.limit_pages * PAGE,
    .chain_size = params.chain_size ? params.chain_size : 8,
    .reserve_pages = params.reserve_pages,
    .ahead_pages = params.ahead_pages,
    .dense = params.dense,
    .strong = params.strong,
    .budget = params.budget,
    .room_elsewhere = params.room_elsewhere,
    .room_opaque = params.room_opaque,
    .ops = &fail_arena_ops,
    .has_checks = params.has_checks,
  };
  struct state_file file;

  fail_ops_reset ();
  if (params.path) {
    state_file_get (params.path, &config, &file);
    config.file = &file;
  }
  assert_int_equal (codec_pool_create (params.codec,
                                       codec_levels (params.codec).dflt, 4,
                                       &f->codec),
                    0);
  config.codec = f->codec;
  assert_int_equal (crew_create (2, store_crew_bytes (), &f->crew), 0);
  assert_int_equal (crew_start (f->crew), 0);
  config.crew = f->crew;
  assert_int_equal (store_create (&config, &f->store), 0);
  assert_true (store_disksize (f->store) == config.disksize);
}

void
store_fixture_fini (struct store_fixture *f)
{
  store_check (f->store);
  store_destroy (f->store);
  crew_destroy (f->crew);
  codec_pool_destroy (f->codec);
  fail_ops_reset ();
}

static size_t
pages_for (uint64_t bytes)
{
  return (bytes + PAGE - 1) / PAGE;
}

uint64_t
saved_pages (struct store *store)
{
  uint64_t t, all, pages = 0, in_use;
  size_t len;
  unsigned g;

  if (store->is_saved) {
    pages = 1;
    for (g = 1; g <= SLOT_GEN_MAX; ++g)
      if (store_dictionary (store, g, &in_use)) {
        dictionary_bytes (store_dictionary (store, g, &in_use), &len);
        pages += 1 + pages_for (len);
      }
  }
  else
    pages = store->started;
  /* The last page of the table may have but one of checks. */
  all = pages_for (store->nr_pages * sizeof (struct zspage_check));
  for (t = 0; store->checks && t < store->nr_table_pages; ++t)
    if (table_is_present (store, t))
      pages += all - 2 * t < 2 ? all - 2 * t : 2;
  return pages;
}

/* Pages of the arena that have memory by the figures of the program. */
static const char *
check_resident (struct store *store)
{
  static char why[160];
  struct store_stats s = store_stats_now (store);
  uint64_t want = s.mem_used_total + s.mem_reserve +
                  (store->nr_present + saved_pages (store)) * PAGE +
                  store->pool->records_ready_bytes;

  /* A start that failed may have left the header. */
  if (s.mem_resident == want ||
      (!store->is_saved && !store->started && s.mem_resident == want + PAGE))
    return NULL;
  snprintf (why, sizeof why, "the arena has %llu pages, the figures say %llu",
            (unsigned long long) s.mem_resident / PAGE,
            (unsigned long long) want / PAGE);
  return why;
}

const char *
store_check_why (struct store *store)
{
  const char *why = "no memory to validate";

  if (store_validate (store, &why) < 0)
    return why;
  return check_resident (store);
}

void
store_check (struct store *store)
{
  const char *why = store_check_why (store);

  if (why)
    fail_msg ("%s", why);
}

struct store_stats
store_stats_now (struct store *store)
{
  struct store_stats stats;

  store_stats (store, &stats);
  return stats;
}

void
put_page (struct store *store, uint64_t idx, const void *page)
{
  assert_int_equal (store_write (store, page, PAGE, idx * PAGE), 0);
}

void
put_pages (struct store *store, uint64_t idx, uint64_t n, enum page_kind kind,
           struct rng *rng)
{
  uint8_t page[PAGE];

  for (; n > 0; --n) {
    page_make (kind, rng, page);
    put_page (store, idx++, page);
  }
}

void
trim_pages (struct store *store, uint64_t idx, uint64_t n)
{
  assert_int_equal (store_trim (store, n * PAGE, idx * PAGE), 0);
}

void
assert_content (struct store *store, const void *data, size_t len,
                uint64_t offset)
{
  uint8_t *buf = malloc (len);

  assert_non_null (buf);
  memset (buf, 0xcd, len);
  assert_int_equal (store_read (store, buf, len, offset), 0);
  assert_memory_equal (buf, data, len);
  free (buf);
}

void
assert_reads_zero (struct store *store, size_t len, uint64_t offset)
{
  void *zeros = calloc (1, len);

  assert_non_null (zeros);
  assert_content (store, zeros, len, offset);
  free (zeros);
}
