/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine without nbdkit, in one thread: what it takes beyond what cannot be
 * spared, ours and that by turns, as ns of CPU time a page.
 *
 * Pages that repeat one word are left out, as we do not compress them and LZ4
 * would look bad.  Before each round all is fresh; then
 *
 *   growth      into memory that the kernel has to give, zeroed and mapped, as
 *               `kernel' shows; against LZ4_compress, which needs none.
 *   write       over what is stored, so that memory is used again; against
 *               LZ4_compress.  The pages, the slots and the objects are far
 *               larger than the caches, so that each is a miss, at random for
 *               LZ4 too, as it has the same pages in the same order.
 *   read        against decompressing the very objects that the store made, where
 *               they lie and in the same order, so that the ratio shows our own
 *               cost and not that of caches.
 *   trim        2 MiB each, of all that is stored, with caches full of other
 *               things; `kernel' is giving the memory back.  Against reading each
 *               slot and writing 4 bytes where its object is, as cold.
 *   compaction  of what is left when a random half was trimmed page by page, an
 *               object moved, as cold; `kernel' as for trim.  Against memcpy of
 *               as many objects of the same size between random places of as much
 *               memory, which is populated and mapped.
 *   recovery    elapsed time, on as many processors as it takes, from opening the
 *               file of a store that was closed until it can be used; as cold,
 *               but in memory.  Mapping what it looks at is part of it, and of
 *               the limits: touching the slot table, in one thread; and the
 *               header of each object too, which recovery itself leaves alone.
 *
 * What a call gives back or takes is counted as the kernel's whole; what else
 * the kernel does, such as page faults, is not told apart.  The last column is
 * the limit against the rest.
 *
 * At random, pages were also written in another order before, and are read in a
 * third, so that neither slots nor objects come one after the other.
 */
#include <config.h>

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine-rates.h"
#include "usage.h"

#define DEFAULT_ROUNDS 7
#define MAX_ROUNDS     100

enum figure {
  WRITE_IN_ORDER,
  WRITE_RANDOM,
  READ_IN_ORDER,
  READ_RANDOM,
  GROWTH,
  TRIM_IN_ORDER,
  TRIM_RANDOM,
  COMPACT,
  RECOVER_TABLE,
  RECOVER_OBJECTS,
  NR_FIGURES,
};

static const struct {
  const char *name, *limit;
} figures[NR_FIGURES] = {
  [WRITE_IN_ORDER] = {"write, in order", "LZ4_compress"},
  [WRITE_RANDOM] = {"write, at random", "LZ4_compress"},
  [READ_IN_ORDER] = {"read, in order", "LZ4_decompress"},
  [READ_RANDOM] = {"read, at random", "LZ4_decompress"},
  [GROWTH] = {"growth, in order", "LZ4_compress"},
  [TRIM_IN_ORDER] = {"trim, written in order", "touch"},
  [TRIM_RANDOM] = {"trim, written at random", "touch"},
  [COMPACT] = {"compaction, objects", "memcpy"},
  [RECOVER_TABLE] = {"recovery", "touch table"},
  [RECOVER_OBJECTS] = {"recovery", "and objects"},
};

/* [figure][round] */
static double ours[NR_FIGURES][MAX_ROUNDS], kernel[NR_FIGURES][MAX_ROUNDS],
  limit[NR_FIGURES][MAX_ROUNDS];

static struct engine_pages pages;
static struct codec_pool *codec;
static struct store *store;
static void *lz4_state;
static uint64_t *in_order, *at_random[3];

static void
keep (enum figure f, int round, struct timing t)
{
  ours[f][round] = t.ours;
  kernel[f][round] = t.kernel;
  limit[f][round] = t.limit;
}

static void
bare_write (uint64_t i)
{
  char out[ENGINE_OUT_BYTES];

  engine_bare_compress (lz4_state, engine_page (&pages, i), out);
}

static void
our_write (uint64_t i)
{
  engine_write (store, i, engine_page (&pages, i));
}

static void
bare_read (uint64_t i)
{
  char page[ZSPAGE_PAGE_SIZE];

  engine_bare_decompress (store, i, page);
}

static void
our_read (uint64_t i)
{
  char page[ZSPAGE_PAGE_SIZE];

  engine_read (store, i, page);
}

/* ns a page. */
static double
run (void (*op) (uint64_t i), const uint64_t *order)
{
  double start = engine_cpu_ns ();
  size_t i;

  for (i = 0; i < pages.nr; ++i)
    op (order[i]);
  return (engine_cpu_ns () - start) / pages.nr;
}

/* In every second round bare LZ4 is first. */
static void
by_turns (enum figure f, int round, void (*op) (uint64_t i),
          void (*bare) (uint64_t i), const uint64_t *order)
{
  struct timing t = {0};

  if (round & 1)
    t.limit = run (bare, order);
  rates_kernel_ns ();
  t.ours = run (op, order);
  t.kernel = rates_kernel_ns () / pages.nr;
  if (!(round & 1))
    t.limit = run (bare, order);
  keep (f, round, t);
}

static void
verify (void)
{
  uint8_t page[ZSPAGE_PAGE_SIZE];
  struct store_stats s;
  size_t i;

  for (i = 0; i < pages.nr; ++i) {
    engine_read (store, i, page);
    if (memcmp (page, engine_page (&pages, i), sizeof page) != 0)
      errx (EXIT_FAILURE, "page %zu reads back wrong", i);
  }
  store_stats (store, &s);
  printf ("stored %llu bytes as %llu in %llu (efficiency %.1f%%)\n\n",
          (unsigned long long) s.orig_data_size,
          (unsigned long long) s.compr_data_size,
          (unsigned long long) s.mem_used_total,
          100.0 * s.compr_data_size / s.mem_used_total);
}

/* Bytes of the objects, each rounded up to the size of its class: what the
 * pool would take if no zspage were partly used.
 */
static uint64_t
packed_bytes (void)
{
  struct zs_class_stats c;
  uint64_t bytes = 0;
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (store_class_stats (store, i, &c))
      bytes += c.obj_used * c.size;
  return bytes;
}

static void
compaction_tell (const struct rates_compaction *is)
{
  double compr = is->after.compr_data_size;

  printf ("a random half trimmed page by page, then compacted "
          "(mem_used_total / compr_data_size)\n"
          "  before   %.4f\n  after    %.4f\n"
          "  packed   %.4f   if no zspage were partly used\n"
          "%llu pages freed by %llu copies of %.0f bytes, mean\n\n",
          is->before.mem_used_total / compr, is->after.mem_used_total / compr,
          packed_bytes () / compr, (unsigned long long) is->nr_pages_freed,
          (unsigned long long) is->nr_objects, is->object_bytes);
}

/* The mean of what compaction copied. */
static double
one_round (int round)
{
  struct rates_compaction compaction;

  store = engine_store (pages.nr, codec, &rates_ops);
  by_turns (GROWTH, round, our_write, bare_write, in_order);
  by_turns (WRITE_IN_ORDER, round, our_write, bare_write, in_order);
  by_turns (READ_IN_ORDER, round, our_read, bare_read, in_order);
  if (round == 0)
    verify ();
  keep (TRIM_IN_ORDER, round, rates_trim (store, &pages));

  run (our_write, at_random[0]);
  by_turns (WRITE_RANDOM, round, our_write, bare_write, at_random[1]);
  by_turns (READ_RANDOM, round, our_read, bare_read, at_random[2]);
  rates_compact (store, &pages, &compaction);
  keep (COMPACT, round, compaction.timing);
  if (round == 0)
    compaction_tell (&compaction);
  run (our_write, at_random[0]);
  keep (TRIM_RANDOM, round, rates_trim (store, &pages));
  store_destroy (store);

  keep (RECOVER_TABLE, round, rates_recover (&pages, codec, false));
  keep (RECOVER_OBJECTS, round, rates_recover (&pages, codec, true));
  return compaction.object_bytes;
}

/* The median of the limit / what is left of ours without the kernel. */
static double
ratio_without_kernel (enum figure f, int rounds)
{
  double own[MAX_ROUNDS];
  int i;

  for (i = 0; i < rounds; ++i)
    own[i] = ours[f][i] - kernel[f][i];
  return engine_median_ratio (limit[f], own, rounds);
}

static void
report_row (enum figure f, int rounds, double object_bytes)
{
  double us = engine_median (ours[f], rounds);
  double it = engine_median (limit[f], rounds);

  printf ("%-24s %8.1f %8.1f %10.0f   %-14s %8.1f %10.0f   %8.3f %8.3f\n",
          figures[f].name, us, engine_median (kernel[f], rounds), 1e9 / us,
          figures[f].limit, it, 1e9 / it,
          engine_median_ratio (limit[f], ours[f], rounds),
          ratio_without_kernel (f, rounds));
  if (f == COMPACT)
    printf ("  MB/s %47.0f %36.0f\n", object_bytes / us * 1e3,
            object_bytes / it * 1e3);
}

static void
report (int rounds, double object_bytes)
{
  enum figure f;

  printf ("%-24s %8s %8s %10s   %-14s %8s %10s   %8s %8s\n"
          "%-24s %8s %8s %10s   %-14s %8s %10s   %8s %8s\n",
          "medians of rounds", "ns", "of them", "a second", "limit", "ns",
          "a second", "limit", "without", "", "a page", "kernel", "", "",
          "a page", "", "/ ours", "kernel");
  for (f = 0; f < NR_FIGURES; ++f) {
    if (f == READ_IN_ORDER || f == GROWTH || f == TRIM_IN_ORDER ||
        f == COMPACT || f == RECOVER_TABLE)
      printf ("\n");
    report_row (f, rounds, object_bytes);
  }
}

static void
prepare (const char *path, const char *dir)
{
  size_t i;

  engine_pages_load (&pages, path);
  printf ("%s: %zu pages, and %zu of one repeated word left out\n", path,
          pages.nr, pages.nr_same);
  engine_must (codec_pool_create (CODEC_LZ4, 1, 0, &codec),
               "codec_pool_create");
  lz4_state = engine_lz4_state ();
  in_order = engine_alloc (pages.nr * sizeof *in_order);
  for (i = 0; i < pages.nr; ++i)
    in_order[i] = i;
  for (i = 0; i < 3; ++i)
    at_random[i] = engine_shuffled (pages.nr, i);
  rates_file_make (dir, &pages, codec);
}

static void
finish (void)
{
  size_t i;

  codec_pool_destroy (codec);
  for (i = 0; i < 3; ++i)
    free (at_random[i]);
  free (in_order);
  free (lz4_state);
  free (pages.data);
}

static const char usage[] =
  "usage: engine-bench [--rounds N] [--state DIR] FILE\n"
  "FILE holds pages of 4096 bytes; N [7], at most 100; DIR, on a tmpfs, "
  "[/dev/shm] is\nfor what is recovered.\n";
static_assert (DEFAULT_ROUNDS == 7 && MAX_ROUNDS == 100, "as the usage says");

/* The path of FILE. */
static const char *
options_parse (int argc, char *argv[], int *rounds, const char **dir)
{
  static const struct option options[] = {
    {"rounds", required_argument, NULL, 'r'},
    {"state", required_argument, NULL, 's'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  int c;

  while ((c = getopt_long (argc, argv, "r:s:h", options, NULL)) != -1) {
    switch (c) {
    case 'r':
      *rounds = usage_number ("--rounds", optarg, 1, MAX_ROUNDS);
      break;
    case 's':
      *dir = optarg;
      break;
    case 'h':
      usage_exit (usage, EXIT_SUCCESS);
    default:
      usage_exit (usage, USAGE_STATUS);
    }
  }
  if (argc - optind != 1)
    usage_exit (usage, USAGE_STATUS);
  return argv[optind];
}

int
main (int argc, char *argv[])
{
  const char *dir = "/dev/shm", *path;
  int round, rounds = DEFAULT_ROUNDS;
  double bytes = 0;

  path = options_parse (argc, argv, &rounds, &dir);
  prepare (path, dir);
  for (round = 0; round < rounds; ++round)
    bytes = one_round (round);
  report (rounds, bytes);
  finish ();
  return EXIT_SUCCESS;
}
