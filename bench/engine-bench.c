/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine without nbdkit: storing and reading pages against bare LZ4 on the
 * same pages, in one thread, ours and bare in turn, in CPU time.
 *
 * Pages that repeat one word are left out, as we do not compress them and LZ4
 * would look bad.  Reads are compared with decompressing the very objects that
 * the store made, where they lie and in the same order, so that the ratio
 * shows our own cost and not that of caches.
 */
#include <config.h>

#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lz4.h>

#include "store-internal.h"

#define DEFAULT_ROUNDS 7
#define MAX_ROUNDS     100

struct pages {
  uint8_t *data;
  size_t nr;
};

enum figure {
  BARE_COMPRESS,
  WRITE_GROWTH,
  WRITE_RECYCLED,
  BARE_DECOMPRESS,
  READ,
  TRIM,
  NR_FIGURES,
};

static const char *const figure_names[NR_FIGURES] = {
  [BARE_COMPRESS] = "bare LZ4_compress",
  [WRITE_GROWTH] = "write, into fresh memory",
  [WRITE_RECYCLED] = "write, into recycled memory",
  [BARE_DECOMPRESS] = "bare LZ4_decompress",
  [READ] = "read",
  [TRIM] = "trim, 2 MiB each",
};

static double ns[NR_FIGURES][MAX_ROUNDS]; /* a page */

static double
cpu_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &ts);
  return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void
must (int r, const char *what)
{
  if (r < 0)
    errx (EXIT_FAILURE, "%s: %s", what, strerror (-r));
}

/* Read a file of pages, leaving out those that repeat one word. */
static void
pages_load (struct pages *pages, const char *path)
{
  int fd = open (path, O_RDONLY);
  uint64_t value;
  struct stat st;
  size_t total, i;

  if (fd == -1 || fstat (fd, &st) == -1)
    err (EXIT_FAILURE, "%s", path);
  total = st.st_size / ZSPAGE_PAGE_SIZE;
  pages->data = malloc (total * ZSPAGE_PAGE_SIZE);
  if (pages->data == NULL)
    err (EXIT_FAILURE, "memory for %zu pages", total);
  for (i = 0; i < total; ++i) {
    uint8_t *page = pages->data + pages->nr * ZSPAGE_PAGE_SIZE;

    if (read (fd, page, ZSPAGE_PAGE_SIZE) != ZSPAGE_PAGE_SIZE)
      err (EXIT_FAILURE, "%s", path);
    if (!codec_same_filled (page, &value))
      pages->nr++;
  }
  close (fd);
  if (pages->nr == 0)
    errx (EXIT_FAILURE, "%s: no page that is not of one repeated word", path);
  printf ("%s: %zu pages, %zu of one repeated word left out\n", path, total,
          total - pages->nr);
}

static double
bare_compress (const struct pages *pages)
{
  static char state[1 << 15] __attribute__ ((aligned (64)));
  char out[LZ4_COMPRESSBOUND (ZSPAGE_PAGE_SIZE)];
  double start = cpu_ns ();
  size_t i;

  if (LZ4_sizeofState () > (int) sizeof state)
    errx (EXIT_FAILURE, "LZ4 wants a larger state");
  for (i = 0; i < pages->nr; ++i)
    LZ4_compress_fast_extState (
      state, (const char *) pages->data + i * ZSPAGE_PAGE_SIZE, out,
      ZSPAGE_PAGE_SIZE, sizeof out, 1);
  return (cpu_ns () - start) / pages->nr;
}

static double
write_all (struct store *store, const struct pages *pages)
{
  double start = cpu_ns ();
  size_t i;

  for (i = 0; i < pages->nr; ++i)
    must (store_write (store, pages->data + i * ZSPAGE_PAGE_SIZE,
                       ZSPAGE_PAGE_SIZE, (uint64_t) i * ZSPAGE_PAGE_SIZE),
          "write");
  return (cpu_ns () - start) / pages->nr;
}

/* Decompress, or for huge pages copy, the objects of the store itself. */
static double
bare_decompress (struct store *store, size_t nr)
{
  char page[ZSPAGE_PAGE_SIZE];
  double start = cpu_ns ();
  size_t i;

  for (i = 0; i < nr; ++i) {
    uint64_t word = slot_get_locked (store, i);
    const char *data = zs_map (store->pool, slot_ref (word));

    if (slot_kind (word) == SLOT_LZ4)
      LZ4_decompress_safe (data, page, slot_len (word), sizeof page);
    else
      memcpy (page, data, sizeof page);
  }
  return (cpu_ns () - start) / nr;
}

static double
read_all (struct store *store, size_t nr)
{
  char page[ZSPAGE_PAGE_SIZE];
  double start = cpu_ns ();
  size_t i;

  for (i = 0; i < nr; ++i)
    must (
      store_read (store, page, sizeof page, (uint64_t) i * ZSPAGE_PAGE_SIZE),
      "read");
  return (cpu_ns () - start) / nr;
}

static double
trim_all (struct store *store, size_t nr)
{
  const uint64_t step = 2 << 20, end = (uint64_t) nr * ZSPAGE_PAGE_SIZE;
  double start = cpu_ns ();
  uint64_t at;

  for (at = 0; at < end; at += step)
    must (store_trim (store, at + step < end ? step : end - at, at), "trim");
  return (cpu_ns () - start) / nr;
}

static void
verify (struct store *store, const struct pages *pages)
{
  uint8_t page[ZSPAGE_PAGE_SIZE];
  size_t i;

  for (i = 0; i < pages->nr; ++i) {
    must (
      store_read (store, page, sizeof page, (uint64_t) i * ZSPAGE_PAGE_SIZE),
      "read");
    if (memcmp (page, pages->data + i * ZSPAGE_PAGE_SIZE, sizeof page) != 0)
      errx (EXIT_FAILURE, "page %zu reads back wrong", i);
  }
}

static struct store *
store_make (const struct pages *pages, struct codec_pool *codec)
{
  struct store_config config = {
    .name = "bench",
    .disksize =
      zspage_align_up ((uint64_t) pages->nr * ZSPAGE_PAGE_SIZE, 2 << 20),
    .chain_size = ZS_CHAIN_DFLT,
    .reserve_pages = 16,
    .codec = codec,
  };
  struct store *store;

  must (store_create (&config, &store), "store_create");
  return store;
}

/* Bytes of the objects, each rounded up to the size of its class: what the
 * pool would take if no zspage were partly used.
 */
static uint64_t
packed_bytes (struct store *store)
{
  struct zs_class_stats c;
  uint64_t bytes = 0;
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (store_class_stats (store, i, &c))
      bytes += c.obj_used * c.size;
  return bytes;
}

/* Trim a random half of what is stored, page by page, and compact. */
static void
half_trimmed (const struct pages *pages, struct codec_pool *codec)
{
  struct store *store = store_make (pages, codec);
  struct store_stats before, after;
  unsigned short seed[3] = {1, 2, 3};
  double start, s;
  size_t i, freed;

  write_all (store, pages);
  for (i = 0; i < pages->nr; ++i)
    if (nrand48 (seed) & 1)
      must (
        store_trim (store, ZSPAGE_PAGE_SIZE, (uint64_t) i * ZSPAGE_PAGE_SIZE),
        "trim");
  store_stats (store, &before);
  start = cpu_ns ();
  freed = store_compact (store);
  s = (cpu_ns () - start) / 1e9;
  store_stats (store, &after);
  printf ("\na random half trimmed page by page, then compacted "
          "(mem_used_total / compr_data_size)\n"
          "  before   %.4f\n  after    %.4f\n"
          "  packed   %.4f   if no zspage were partly used\n"
          "%zu pages freed by %llu copies in %.3f s: %.0f copies/s\n",
          (double) before.mem_used_total / before.compr_data_size,
          (double) after.mem_used_total / after.compr_data_size,
          (double) packed_bytes (store) / after.compr_data_size, freed,
          (unsigned long long) after.objects_moved, s, after.objects_moved / s);
  store_destroy (store);
}

static void
one_round (const struct pages *pages, struct codec_pool *codec, int round)
{
  struct store *store = store_make (pages, codec);
  struct store_stats s;

  ns[WRITE_GROWTH][round] = write_all (store, pages);
  ns[BARE_COMPRESS][round] = bare_compress (pages);
  ns[WRITE_RECYCLED][round] = write_all (store, pages);
  ns[BARE_DECOMPRESS][round] = bare_decompress (store, pages->nr);
  ns[READ][round] = read_all (store, pages->nr);
  if (round == 0) {
    verify (store, pages);
    store_stats (store, &s);
    printf ("stored %llu bytes as %llu in %llu (efficiency %.1f%%)\n\n",
            (unsigned long long) s.orig_data_size,
            (unsigned long long) s.compr_data_size,
            (unsigned long long) s.mem_used_total,
            100.0 * s.compr_data_size / s.mem_used_total);
  }
  ns[TRIM][round] = trim_all (store, pages->nr);
  store_destroy (store);
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static double
median (const double *values, int nr)
{
  double sorted[MAX_ROUNDS];

  memcpy (sorted, values, nr * sizeof *values);
  qsort (sorted, nr, sizeof *sorted, compare);
  return sorted[nr / 2];
}

/* The median of the ratios, pair by pair: this machine's speed drifts. */
static double
paired_ratio (enum figure bare, enum figure ours, int rounds)
{
  double ratios[MAX_ROUNDS];
  int i;

  for (i = 0; i < rounds; ++i)
    ratios[i] = ns[bare][i] / ns[ours][i];
  return median (ratios, rounds);
}

static void
report (int rounds)
{
  enum figure f;

  printf ("%-30s %10s %10s   %s\n", "CPU a page, median", "ns", "MB/s",
          "speed of bare");
  for (f = 0; f < NR_FIGURES; ++f) {
    double m = median (ns[f], rounds);

    printf ("%-30s %10.0f %10.0f", figure_names[f], m,
            ZSPAGE_PAGE_SIZE / m * 1000);
    if (f == WRITE_GROWTH || f == WRITE_RECYCLED)
      printf ("   %.3f", paired_ratio (BARE_COMPRESS, f, rounds));
    else if (f == READ)
      printf ("   %.3f", paired_ratio (BARE_DECOMPRESS, f, rounds));
    printf ("\n");
  }
}

static void
usage (FILE *fp)
{
  fprintf (fp, "usage: engine-bench [--rounds N] FILE\n"
               "FILE holds pages of 4096 bytes.  Prints CPU time a page.\n");
}

int
main (int argc, char *argv[])
{
  static const struct option options[] = {
    {"rounds", required_argument, NULL, 'r'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  struct codec_pool *codec;
  struct pages pages = {0};
  int c, round, rounds = DEFAULT_ROUNDS;

  while ((c = getopt_long (argc, argv, "r:h", options, NULL)) != -1) {
    switch (c) {
    case 'r':
      rounds = atoi (optarg);
      if (rounds < 1 || rounds > MAX_ROUNDS)
        errx (EXIT_FAILURE, "--rounds %s: from 1 to %d", optarg, MAX_ROUNDS);
      break;
    case 'h':
      usage (stdout);
      return EXIT_SUCCESS;
    default:
      usage (stderr);
      return EXIT_FAILURE;
    }
  }
  if (argc - optind != 1) {
    usage (stderr);
    return EXIT_FAILURE;
  }
  pages_load (&pages, argv[optind]);
  must (codec_pool_create (CODEC_LZ4, 1, 0, &codec), "codec_pool_create");
  for (round = 0; round < rounds; ++round)
    one_round (&pages, codec, round);
  report (rounds);
  half_trimmed (&pages, codec);
  codec_pool_destroy (codec);
  free (pages.data);
  return EXIT_SUCCESS;
}
