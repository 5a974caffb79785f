/* SPDX-License-Identifier: BSD-3-Clause */
/* Compaction: how many objects are copied to free what can be freed.
 *
 * Every class is filled and then freed at random down to 30-50% of its
 * objects.  The pool compacts that; the same starting point is also given to
 * models of the two schemes that the kernel had before, and to the optimum:
 *
 *   two groups   zspages are almost empty (up to 3/4) or almost full
 *   10% groups   since 2023
 *   exact        ours: lists by the number of objects
 *   fewest       the objects that are not in the ceil (used / objs) fullest
 *
 * Follows the comparison published with the 10% groups.
 */
#include <config.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "random.h"
#include "usage.h"
#include "zspool.h"

#define NR_CHUNKS       4096u
#define ZSPAGES_A_CLASS 400u
#define MAX_GROUPS      12u
#define SCANS           1000000u

struct object {
  zs_ref ref;
  unsigned class_index;
};

static struct zs_pool *pool;
static struct object *objects; /* objects[owner]; ref UINT64_MAX once freed */
static size_t nr_objects;
static uint64_t rng;

static int
no_op (void *opaque, void *addr, size_t len)
{
  (void) opaque;
  (void) addr;
  (void) len;
  return 0;
}

static int
relocate (void *opaque, uint32_t owner, zs_ref from, zs_ref to, const void *src,
          void *dst, size_t len)
{
  (void) opaque;
  if (objects[owner].ref != from)
    errx (EXIT_FAILURE, "object %u is not where its owner thinks", owner);
  memcpy (dst, src, len);
  objects[owner].ref = to;
  return 0;
}

static void *
map (size_t bytes)
{
  void *p = mmap (NULL, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (p == MAP_FAILED)
    err (EXIT_FAILURE, "mmap");
  return p;
}

static void
pool_make (unsigned chain_size)
{
  struct zs_config config = {
    .chain_size = chain_size,
    .nr_chunks = NR_CHUNKS,
    .records = map (NR_CHUNKS * sizeof (struct zspage_chunk_record)),
    .data = map ((size_t) NR_CHUNKS * ZSPAGE_CHUNK_SIZE),
    .os = {.populate = no_op, .release = no_op},
    .relocate = relocate,
  };

  if (zs_pool_create (&config, &pool) < 0)
    errx (EXIT_FAILURE, "zs_pool_create");
}

static void
fill (void)
{
  struct zs_class_stats c;
  unsigned i;
  size_t j, want;

  objects = map ((size_t) ZS_NR_SIZES * ZSPAGES_A_CLASS * ZS_MAX_OBJS *
                 sizeof *objects);
  for (i = 0; i < ZS_HUGE_INDEX; ++i) {
    if (!zs_class_stats (pool, i, &c))
      continue;
    want = (size_t) ZSPAGES_A_CLASS *
           (c.pages_per_zspage * ZSPAGE_PAGE_SIZE / c.size);
    for (j = 0; j < want; ++j) {
      objects[nr_objects].class_index = i;
      if (zs_malloc (pool, c.size - ZSPAGE_OBJECT_HEADER, nr_objects,
                     &objects[nr_objects].ref) < 0)
        errx (EXIT_FAILURE, "zs_malloc");
      nr_objects++;
    }
  }
}

/* Keep 30-50% of each class. */
static void
free_at_random (void)
{
  unsigned keep[ZS_NR_SIZES], i;
  size_t j;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    keep[i] = 300 + random_next (&rng) % 201;
  for (j = 0; j < nr_objects; ++j) {
    if (random_next (&rng) % 1000 < keep[objects[j].class_index])
      continue;
    zs_free (pool, objects[j].ref);
    objects[j].ref = UINT64_MAX;
  }
}

/* The models: a class as the numbers of objects in its zspages. */

struct model {
  unsigned objs;
  unsigned nr;
  unsigned *in_use;
  unsigned (*group) (unsigned in_use, unsigned objs);
  unsigned nr_groups;
  /* Stacks of zspages by group; full and empty ones are in none. */
  unsigned *stack[MAX_GROUPS], depth[MAX_GROUPS];
};

static unsigned
two_groups (unsigned in_use, unsigned objs)
{
  return in_use <= 3 * objs / 4 ? 0 : 1;
}

static unsigned
ten_percent_groups (unsigned in_use, unsigned objs)
{
  return 100 * in_use / objs / 10;
}

static void
model_put (struct model *m, unsigned z)
{
  unsigned g;

  if (m->in_use[z] == 0 || m->in_use[z] == m->objs)
    return;
  g = m->group (m->in_use[z], m->objs);
  m->stack[g][m->depth[g]++] = z;
}

/* The top of the first group from the sparse end, or from the dense end. */
static int
model_take (struct model *m, int from_dense)
{
  unsigned i, g;

  for (i = 0; i < m->nr_groups; ++i) {
    g = from_dense ? m->nr_groups - 1 - i : i;
    if (m->depth[g] > 0)
      return m->stack[g][--m->depth[g]];
  }
  return -1;
}

static size_t
model_compact (struct model *m)
{
  size_t copies = 0, used = 0, zspages = m->nr;
  unsigned i;
  int src, dst;

  for (i = 0; i < m->nr; ++i)
    used += m->in_use[i];
  while (zspages * m->objs - used >= m->objs) {
    src = model_take (m, 0);
    if (src < 0)
      break;
    while (m->in_use[src] > 0 && (dst = model_take (m, 1)) >= 0) {
      unsigned room = m->objs - m->in_use[dst];
      unsigned n = m->in_use[src] < room ? m->in_use[src] : room;

      m->in_use[src] -= n;
      m->in_use[dst] += n;
      copies += n;
      model_put (m, dst);
    }
    if (m->in_use[src] == 0)
      zspages--;
    else
      model_put (m, src);
  }
  return copies;
}

static size_t
model_run (const unsigned *in_use, unsigned nr, unsigned objs,
           unsigned (*group) (unsigned, unsigned), unsigned nr_groups)
{
  struct model m = {
    .objs = objs, .nr = nr, .group = group, .nr_groups = nr_groups};
  size_t copies;
  unsigned i;

  m.in_use = malloc (nr * sizeof *m.in_use);
  memcpy (m.in_use, in_use, nr * sizeof *m.in_use);
  for (i = 0; i < nr_groups; ++i)
    m.stack[i] = malloc (nr * sizeof *m.stack[i]);
  for (i = 0; i < nr; ++i)
    model_put (&m, i);
  copies = model_compact (&m);
  for (i = 0; i < nr_groups; ++i)
    free (m.stack[i]);
  free (m.in_use);
  return copies;
}

static int
descending (const void *a, const void *b)
{
  return (int) *(const unsigned *) b - (int) *(const unsigned *) a;
}

static size_t
fewest (const unsigned *in_use, unsigned nr, unsigned objs)
{
  unsigned *sorted = malloc (nr * sizeof *sorted), i;
  size_t used = 0, copies = 0;

  memcpy (sorted, in_use, nr * sizeof *sorted);
  qsort (sorted, nr, sizeof *sorted, descending);
  for (i = 0; i < nr; ++i)
    used += sorted[i];
  for (i = (used + objs - 1) / objs; i < nr; ++i)
    copies += sorted[i];
  free (sorted);
  return copies;
}

struct totals {
  size_t two, ten, fewest;
};

/* The numbers of objects in the zspages of a class, from where the objects
 * are: references of one zspage lie in the same stretch of pages.
 */
static void
model_class (const struct zs_class_stats *c, struct totals *totals)
{
  unsigned objs = c->pages_per_zspage * ZSPAGE_PAGE_SIZE / c->size;
  unsigned *in_use = calloc (ZSPAGES_A_CLASS + 1, sizeof *in_use);
  const size_t chunk_refs = ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN;
  const size_t zspage_refs =
    c->pages_per_zspage * ZSPAGE_PAGE_SIZE / ZSPAGE_OBJECT_ALIGN;
  const size_t most = ZSPAGE_CHUNK_PAGES;
  uint16_t *index = calloc ((size_t) NR_CHUNKS * most, sizeof *index);
  unsigned nr = 0;
  size_t j;

  for (j = 0; j < nr_objects; ++j) {
    zs_ref ref = objects[j].ref;
    size_t z;

    if (objects[j].class_index != c->index || ref == UINT64_MAX)
      continue;
    z = ref / chunk_refs * most + ref % chunk_refs / zspage_refs;
    if (index[z] == 0)
      index[z] = ++nr;
    in_use[index[z] - 1]++;
  }
  free (index);
  totals->two += model_run (in_use, nr, objs, two_groups, 2);
  totals->ten += model_run (in_use, nr, objs, ten_percent_groups, 10);
  totals->fewest += fewest (in_use, nr, objs);
  free (in_use);
}

static double
efficiency (void)
{
  struct zs_class_stats c;
  size_t used = 0, pages = 0;
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i) {
    if (!zs_class_stats (pool, i, &c))
      continue;
    used += c.obj_used * c.size;
    pages += c.pages_used;
  }
  return 100.0 * used / (pages * (double) ZSPAGE_PAGE_SIZE);
}

static double
ns_of_idle_scan (void)
{
  struct timespec a, b;
  unsigned i;
  size_t sum = 0;

  clock_gettime (CLOCK_MONOTONIC, &a);
  for (i = 0; i < SCANS; ++i)
    sum += zs_compact (pool);
  clock_gettime (CLOCK_MONOTONIC, &b);
  if (sum > 0)
    errx (EXIT_FAILURE, "compaction was not complete");
  return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / SCANS;
}

static void
row (const char *name, size_t copies, size_t best)
{
  printf ("%-28s %10zu   %.4f\n", name, copies, (double) copies / best);
}

int
main (int argc, char *argv[])
{
  struct zs_pool_stats before, after;
  struct totals totals = {0};
  struct zs_class_stats c;
  char **args = usage_arguments (argc, argv, 0, 2,
                                 "usage: compact-bench [CHAIN_SIZE [SEED]]\n"
                                 "CHAIN_SIZE: 4 to 16 [8].  SEED: [1].\n");
  unsigned chain_size = ZS_CHAIN_DFLT;
  uint64_t seed = 1;
  double was;
  unsigned i;

  if (args[0])
    chain_size =
      usage_number ("CHAIN_SIZE", args[0], ZS_MIN_CHAIN, ZS_MAX_CHAIN);
  if (args[0] && args[1])
    seed = usage_number ("SEED", args[1], 0, UINT64_MAX);
  rng = seed;
  pool_make (chain_size);
  fill ();
  free_at_random ();
  zs_pool_stats (pool, &before);
  was = efficiency ();
  for (i = 0; i < ZS_HUGE_INDEX; ++i)
    if (zs_class_stats (pool, i, &c))
      model_class (&c, &totals);
  zs_compact (pool);
  zs_pool_stats (pool, &after);

  printf ("chain size %u, seed %llu, %zu objects made\n\n", chain_size,
          (unsigned long long) seed, nr_objects);
  printf ("%-28s %10s   %s\n", "objects copied", "", "of the fewest");
  row ("two groups (model)", totals.two, totals.fewest);
  row ("10% groups (model)", totals.ten, totals.fewest);
  row ("exact (this allocator)", after.objects_moved, totals.fewest);
  row ("fewest possible", totals.fewest, totals.fewest);
  printf ("\npool efficiency %.1f%% -> %.1f%%, %zu of %zu pages freed, "
          "%zu freeable left\n",
          was, efficiency (), after.pages_compacted, before.pages_used,
          after.freeable_pages);
  printf ("a scan with nothing to do: %.1f ns\n", ns_of_idle_scan ());
  return EXIT_SUCCESS;
}
