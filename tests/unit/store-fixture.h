/* SPDX-License-Identifier: BSD-3-Clause */
/* A store for tests, and what must always be true of it. */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "fail-ops.h"
#include "helpers.h"
#include "store.h"

#define PAGE ZSPAGE_PAGE_SIZE

struct store_fixture {
  struct codec_pool *codec;
  struct crew *crew; /* of two */
  struct store *store;
};

/* What is 0 gets a default: 1024 pages, chain 8, lz4, no limit, no reserve
 * beyond the bounce page.
 */
struct store_params {
  uint64_t nr_pages;
  uint64_t limit_pages;
  unsigned chain_size;
  size_t reserve_pages, ahead_pages;
  enum codec_id codec;
  struct codec_pool *dense, *strong;
  struct zs_budget *budget;
  bool (*room_elsewhere) (void *opaque, bool memory_is_refused);
  void *room_opaque;
  bool has_checks;
  const char
    *path; /* of a state file, which is made or recovered; NULL: none */
};

/* The store uses fail_arena_ops, which are reset. */
void store_fixture_init (struct store_fixture *f, struct store_params params);

/* Checks the store first. */
void store_fixture_fini (struct store_fixture *f);

/* Pages of the file for dictionaries, checks and the header, by the figures. */
uint64_t saved_pages (struct store *store);

/* The validator has nothing to say, and the arena has as much memory as the
 * figures say, to the page.
 */
void store_check (struct store *store);

/* The same without assertions: NULL, or what is wrong. */
const char *store_check_why (struct store *store);

struct store_stats store_stats_now (struct store *store);

/* Whole pages from a page index on; they must succeed. */
void put_page (struct store *store, uint64_t idx, const void *page);
void put_pages (struct store *store, uint64_t idx, uint64_t n,
                enum page_kind kind, struct rng *rng);
void trim_pages (struct store *store, uint64_t idx, uint64_t n);

/* The store has this content there. */
void assert_content (struct store *store, const void *data, size_t len,
                     uint64_t offset);
void assert_reads_zero (struct store *store, size_t len, uint64_t offset);

#endif /* STORE_FIXTURE_H */
