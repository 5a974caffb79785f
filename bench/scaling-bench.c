/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine on several threads against bare LZ4 on as many, by turns, and how
 * often a lock was not free.
 *
 * Each thread overwrites, or reads, pages at random of all that are stored, so
 * that threads meet wherever they can: in stripes, size classes, codec contexts.
 * Time is elapsed time, as a thread that waits takes no processor.  Pages that
 * repeat one word are left out, as we do not compress them.
 */
#include <config.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "random.h"
#include "usage.h"

#define ROUNDS 7

enum work {
  BARE_COMPRESS,
  WRITE,
  BARE_DECOMPRESS,
  READ,
  NR_WORKS,
};

static const char *const rank_names[RANK_COUNT] = {
  [RANK_RECOMPRESS] = "recompress",
  [RANK_CODEC] = "codec",
  [RANK_TABLE] = "table",
  [RANK_SLOT] = "slot",
  [RANK_ROOM] = "room",
  [RANK_CLASS] = "class",
  [RANK_CHUNK] = "chunk",
  [RANK_HEADROOM] = "headroom",
};

static struct engine_pages pages;
static struct store *store;

struct worker {
  enum work work;
  uint64_t rng;
  size_t ops;
};

static void
one_op (enum work work, uint64_t i, void *state, char *out)
{
  const uint8_t *page = engine_page (&pages, i);

  switch (work) {
  case BARE_COMPRESS:
    engine_bare_compress (state, page, out);
    break;
  case WRITE:
    engine_write (store, i, page);
    break;
  case BARE_DECOMPRESS:
    engine_bare_decompress (store, i, out);
    break;
  case READ:
    engine_read (store, i, out);
    break;
  case NR_WORKS:
    abort ();
  }
}

static void
worker_run (void *object)
{
  struct worker *w = object;
  char out[ENGINE_OUT_BYTES];
  void *state = engine_lz4_state ();
  size_t n;

  for (n = 0; n < w->ops; ++n)
    one_op (w->work, random_next (&w->rng) % pages.nr, state, out);
  free (state);
}

/* Nanoseconds from start to end of ops operations in each of nr threads. */
static double
run (enum work work, unsigned nr, size_t ops, unsigned round)
{
  struct worker workers[ENGINE_THREADS];
  unsigned i;

  for (i = 0; i < nr; ++i)
    workers[i] = (struct worker){
      .work = work, .ops = ops, .rng = (uint64_t) round << 32 | i};
  return engine_threads_ns (nr, worker_run, workers, sizeof workers[0]);
}

static void
waits_now (uint64_t waits[RANK_COUNT])
{
  unsigned i;

  for (i = 0; i < RANK_COUNT; ++i)
    waits[i] = ranked_lock_waits (i);
}

static void
report (enum work bare, enum work ours, const char *name, unsigned nr,
        size_t ops)
{
  uint64_t before[RANK_COUNT], after[RANK_COUNT], waited[RANK_COUNT] = {0};
  double bare_ns[ROUNDS], ns[ROUNDS],
    million = (double) ops * nr * ROUNDS / 1e6;
  unsigned round, i;

  for (round = 0; round < ROUNDS; ++round) {
    bare_ns[round] = run (bare, nr, ops, round);
    waits_now (before);
    ns[round] = run (ours, nr, ops, round);
    waits_now (after);
    for (i = 0; i < RANK_COUNT; ++i)
      waited[i] += after[i] - before[i];
  }
  printf ("%-6s %7u %12.0f %9.3f  ", name, nr,
          ops * nr / engine_median (ns, ROUNDS) * 1e9,
          engine_median_ratio (bare_ns, ns, ROUNDS));
  for (i = 0; i < RANK_COUNT; ++i)
    if (waited[i] > 0)
      printf (" %s %.1f", rank_names[i], waited[i] / million);
  printf ("\n");
}

int
main (int argc, char *argv[])
{
  static const char usage[] =
    "usage: scaling-bench FILE [THREADS]\n"
    "FILE holds pages of 4096 bytes; 1, 2, 4 and so on to THREADS [4], at most "
    "64.\n";
  char **args = usage_arguments (argc, argv, 1, 2, usage);
  unsigned most =
    args[1] ? usage_number ("THREADS", args[1], 1, ENGINE_THREADS) : 4;
  unsigned nr;
  struct codec_pool *codec;
  size_t i;

  static_assert (ENGINE_THREADS == 64, "as the usage says");
  engine_pages_load (&pages, args[0]);
  engine_must (codec_pool_create (CODEC_LZ4, 1, 0, &codec),
               "codec_pool_create");
  store = engine_store (pages.nr, codec, NULL);
  for (i = 0; i < pages.nr; ++i)
    engine_write (store, i, engine_page (&pages, i));
  printf ("%zu pages, random, medians of %d rounds\n"
          "       threads      pages/s  of bare   waits per million "
          "operations, by lock\n",
          pages.nr, ROUNDS);
  for (nr = 1; nr <= most; nr *= 2) {
    report (BARE_COMPRESS, WRITE, "write", nr, pages.nr / nr);
    report (BARE_DECOMPRESS, READ, "read", nr, pages.nr / nr);
  }
  store_destroy (store);
  codec_pool_destroy (codec);
  free (pages.data);
  return EXIT_SUCCESS;
}
