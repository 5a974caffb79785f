/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool over a fake operating system, and a plain record of what is in it.
 * Owners are indexes of that record.
 */
#ifndef POOL_FIXTURE_H
#define POOL_FIXTURE_H

#include "fake-os.h"
#include "helpers.h"
#include "zspool.h"

struct object {
  zs_ref ref;
  uint16_t len;   /* 0 = none */
  uint32_t stamp; /* what its bytes are made from */
};

struct pool_fixture {
  struct fake_os os;
  struct zs_pool *pool;
  struct object *objects;
  uint32_t nr_objects;
  struct rng rng;
  unsigned refuse_one_in; /* relocate says -EBUSY at random; 0 = never */
  size_t relocations, refusals;
  const char *bad_relocation; /* or NULL */
  size_t hungry;              /* calls */
};

void pool_fixture_init (struct pool_fixture *f, unsigned chain_size,
                        uint32_t nr_chunks, uint32_t nr_objects,
                        size_t reserve_pages);
/* The same, with these of zs_config; hungry counts. */
void pool_fixture_init_ahead (struct pool_fixture *f, unsigned chain_size,
                              uint32_t nr_chunks, uint32_t nr_objects,
                              size_t reserve_pages, size_t ahead_pages,
                              unsigned patience_ms);
/* The same, of a pool that shares a budget. */
void pool_fixture_init_budget (struct pool_fixture *f, unsigned chain_size,
                               uint32_t nr_chunks, uint32_t nr_objects,
                               struct zs_budget *budget);
/* Checks everything before. */
void pool_fixture_fini (struct pool_fixture *f);

/* zs_malloc for objects[owner], which has none, from the reserve if need be, and
 * write its bytes.
 */
int pool_put (struct pool_fixture *f, uint32_t owner, size_t len);
/* Check the bytes of objects[owner] and free it. */
void pool_drop (struct pool_fixture *f, uint32_t owner);
/* Whether the bytes of an object are as they were written. */
void pool_check_object (struct pool_fixture *f, uint32_t owner);

/* The pool is valid, holds exactly the objects of the record, with their
 * bytes, and has exactly the memory that it says.
 */
void pool_check (struct pool_fixture *f);

struct zs_pool_stats pool_stats (const struct pool_fixture *f);

/* Which zspage an object is in, found from the chunk records alone: its number
 * is unique, its pages and class as recorded; class is -1 for huge.
 */
struct where {
  uint64_t zspage;
  unsigned pages;
  int class;
};
struct where pool_where (const struct pool_fixture *f, zs_ref ref);

#endif /* POOL_FIXTURE_H */
