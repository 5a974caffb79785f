/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool for tests; see pool-fixture.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool-fixture.h"

static int
relocate (void *opaque, uint32_t owner, zs_ref from, zs_ref to, const void *src,
          void *dst, size_t len)
{
  struct pool_fixture *f = opaque;

  if (owner >= f->nr_objects || f->objects[owner].len == 0 ||
      f->objects[owner].ref != from || from == to) {
    f->bad_relocation = "relocate was asked for what is not there";
    return -EBUSY;
  }
  if (f->refuse_one_in > 0 && rng_one_in (&f->rng, f->refuse_one_in)) {
    f->refusals++;
    return -EBUSY;
  }
  memcpy (dst, src, len);
  f->objects[owner].ref = to;
  f->relocations++;
  return 0;
}

static void
hungry (void *opaque)
{
  struct pool_fixture *f = opaque;

  f->hungry++;
}

void
pool_fixture_init (struct pool_fixture *f, unsigned chain_size,
                   uint32_t nr_chunks, uint32_t nr_objects,
                   size_t reserve_pages)
{
  pool_fixture_init_ahead (f, chain_size, nr_chunks, nr_objects, reserve_pages,
                           0, 0);
}

static void
fixture_init (struct pool_fixture *f, unsigned chain_size, uint32_t nr_chunks,
              uint32_t nr_objects, size_t reserve_pages, size_t ahead_pages,
              unsigned patience_ms, struct zs_budget *budget)
{
  struct zs_config config;

  memset (f, 0, sizeof *f);
  f->rng = rng_make (77);
  f->nr_objects = nr_objects;
  f->objects = calloc (nr_objects, sizeof *f->objects);
  assert_non_null (f->objects);
  fake_os_init (&f->os, nr_chunks);
  config = (struct zs_config){
    .chain_size = chain_size,
    .nr_chunks = nr_chunks,
    .records = f->os.records,
    .data = f->os.data,
    .reserve_pages = reserve_pages,
    .ahead_pages = ahead_pages,
    .patience_ms = patience_ms,
    .hungry = hungry,
    .hungry_opaque = f,
    .budget = budget,
    .os = fake_os_hooks (&f->os),
    .relocate = relocate,
    .relocate_opaque = f,
  };
  assert_int_equal (zs_pool_create (&config, &f->pool), 0);
}

void
pool_fixture_init_ahead (struct pool_fixture *f, unsigned chain_size,
                         uint32_t nr_chunks, uint32_t nr_objects,
                         size_t reserve_pages, size_t ahead_pages,
                         unsigned patience_ms)
{
  fixture_init (f, chain_size, nr_chunks, nr_objects, reserve_pages,
                ahead_pages, patience_ms, NULL);
}

void
pool_fixture_init_budget (struct pool_fixture *f, unsigned chain_size,
                          uint32_t nr_chunks, uint32_t nr_objects,
                          struct zs_budget *budget)
{
  fixture_init (f, chain_size, nr_chunks, nr_objects, 0, 0, 0, budget);
}

void
pool_fixture_fini (struct pool_fixture *f)
{
  pool_check (f);
  zs_pool_destroy (f->pool);
  fake_os_fini (&f->os);
  free (f->objects);
}

static void
object_bytes (const struct object *o, uint32_t owner, uint8_t *buf)
{
  struct rng rng = {(uint64_t) owner << 32 | o->stamp};

  rng_bytes (&rng, buf, o->len);
}

int
pool_put (struct pool_fixture *f, uint32_t owner, size_t len)
{
  struct object *o = &f->objects[owner];
  int r;

  assert_true (owner < f->nr_objects);
  assert_int_equal (o->len, 0);
  r = zs_malloc (f->pool, len, owner, &o->ref);
  if (r == -ENOMEM || r == -ENOBUFS)
    r = zs_malloc_reserve (f->pool, len, owner, &o->ref);
  if (r == 0) {
    o->len = len;
    o->stamp = rng_next (&f->rng);
    assert_true (zs_capacity (f->pool, o->ref) >= len);
    object_bytes (o, owner, zs_map (f->pool, o->ref));
  }
  return r;
}

void
pool_check_object (struct pool_fixture *f, uint32_t owner)
{
  const struct object *o = &f->objects[owner];
  uint8_t buf[ZSPAGE_PAGE_SIZE];

  object_bytes (o, owner, buf);
  assert_memory_equal (zs_map (f->pool, o->ref), buf, o->len);
  assert_true (zs_ref_is_plausible (f->pool, o->ref, o->len, owner));
}

void
pool_drop (struct pool_fixture *f, uint32_t owner)
{
  pool_check_object (f, owner);
  zs_free (f->pool, f->objects[owner].ref);
  f->objects[owner].len = 0;
}

struct zs_pool_stats
pool_stats (const struct pool_fixture *f)
{
  struct zs_pool_stats stats;

  zs_pool_stats (f->pool, &stats);
  return stats;
}

static void
count_object (void *opaque, zs_ref ref, uint32_t owner)
{
  size_t *seen = opaque;

  (void) ref;
  (void) owner;
  ++*seen;
}

void
pool_check (struct pool_fixture *f)
{
  struct zs_pool_stats stats = pool_stats (f);
  const char *why = "no memory";
  size_t live = 0, seen = 0;
  uint32_t i;

  if (zs_validate (f->pool, &why) < 0)
    fail_msg ("zs_validate: %s", why);
  if (f->os.misuse)
    fail_msg ("the pool misused the system: %s", f->os.misuse);
  if (f->bad_relocation)
    fail_msg ("%s", f->bad_relocation);
  for (i = 0; i < f->nr_objects; ++i) {
    if (f->objects[i].len == 0)
      continue;
    live++;
    pool_check_object (f, i);
  }
  zs_for_each_object (f->pool, count_object, &seen);
  assert_int_equal (seen, live);
  assert_int_equal (f->os.populated,
                    stats.pages_used + stats.stock_pages + stats.reserve_pages);
}

struct where
pool_where (const struct pool_fixture *f, zs_ref ref)
{
  uint64_t page = ref * ZSPAGE_OBJECT_ALIGN / ZSPAGE_PAGE_SIZE;
  uint64_t chunk = page / ZSPAGE_CHUNK_PAGES;
  const struct zspage_chunk_record *record = &f->os.records[chunk];
  struct where w = {.pages = record->kind, .class = -1};

  assert_true (chunk < f->os.nr_chunks);
  assert_in_range (record->kind, 1, ZSPAGE_CHUNK_HUGE);
  if (record->kind == ZSPAGE_CHUNK_HUGE)
    w.pages = 1;
  w.zspage = page % ZSPAGE_CHUNK_PAGES / w.pages;
  if (record->kind != ZSPAGE_CHUNK_HUGE)
    w.class = record->classes[w.zspage] - 1;
  w.zspage += chunk * ZSPAGE_CHUNK_PAGES;
  return w;
}
