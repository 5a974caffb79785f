/* SPDX-License-Identifier: BSD-3-Clause */
/* growth-bench [--pages N] [--rounds N] FILE: what a read and a write cost on a
 * device with 100,000 pages, and on one with N, by turns, in CPU time of one
 * thread.
 *
 * Each operation has any page of FILE, chosen by the number of the page on the
 * device, so that there is as much to compress on both.  There are 100,000 in a
 * round: in the same order on both devices
 *
 *   spread     pages 0, N/100000, 2N/100000 ... of the large one, so that those
 *              of a page of the slot table are few
 *   beginning  its first 100,000
 *   any        of all that are stored
 *
 * Writes overwrite.  Beside that, bare LZ4 for the same pages in the same order,
 * which decompresses the objects where the store has them: what it takes more
 * on the large device is the memory's, not ours.  What is left without it is
 * `own'.  Nothing is cold, but that objects, and on the large device descriptors
 * and slots, are far more than caches and TLB hold.
 *
 * And what the housekeeper asks whenever it looks at a device.
 */
#include <config.h>

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "headroom.h"
#include "random.h"
#include "usage.h"

#define SMALL_PAGES    UINT64_C (100000)
#define DEFAULT_PAGES  UINT64_C (10000000)
#define DEFAULT_ROUNDS 5u
#define MAX_ROUNDS     100u
/* Of memory, that is left to the rest of the machine. */
#define SPARE_BYTES (UINT64_C (1) << 30)

enum size {
  SMALL,
  LARGE,
  NR_SIZES
};

enum pattern {
  SPREAD,
  BEGINNING,
  ANY,
  NR_PATTERNS
};

enum work {
  READ,
  WRITE,
  NR_WORKS
};

enum question {
  STATS,
  FREEABLE,
  CLASSES,
  NR_QUESTIONS
};

static const char *const pattern_names[NR_PATTERNS] = {
  [SPREAD] = "the same, spread",
  [BEGINNING] = "the same, at the beginning",
  [ANY] = "any",
};

static const char *const work_names[NR_WORKS] = {
  [READ] = "read",
  [WRITE] = "write",
};

static const struct {
  const char *name;
  unsigned times;
} questions[NR_QUESTIONS] = {
  [STATS] = {"store_stats", 20000},
  [FREEABLE] = {"zs_freeable_pages", 10000000},
  [CLASSES] = {"store_class_stats, of all classes", 500},
};

struct device {
  struct store *store;
  uint64_t nr_pages;
};

/* ns each. */
static double ours[NR_PATTERNS][NR_WORKS][NR_SIZES][MAX_ROUNDS],
  bare[NR_PATTERNS][NR_WORKS][NR_SIZES][MAX_ROUNDS],
  asked[NR_QUESTIONS][NR_SIZES][MAX_ROUNDS];

static struct engine_pages pages;
static struct device devices[NR_SIZES];
static uint64_t *order; /* [SMALL_PAGES] */
static void *lz4_state;

/* What belongs in a page of a device. */
static const uint8_t *
content (uint64_t idx)
{
  return engine_page (&pages, random_of (idx * RANDOM_STEP) % pages.nr);
}

static void
fill (struct device *device, uint64_t nr_pages, struct codec_pool *codec)
{
  uint64_t i, tenth = nr_pages / 10;

  device->nr_pages = nr_pages;
  device->store = engine_store (nr_pages, codec, NULL);
  for (i = 0; i < nr_pages; ++i) {
    engine_write (device->store, i, content (i));
    if (nr_pages > SMALL_PAGES && (i + 1) % tenth == 0)
      fprintf (stderr, "growth-bench: %" PRIu64 " of %" PRIu64 " pages\n",
               i + 1, nr_pages);
  }
}

/* As the kernel and control groups have it. */
static uint64_t
available_bytes (void)
{
  FILE *fp = fopen ("/proc/meminfo", "r");
  struct headroom *headroom;
  uint64_t kb = 0, left;
  char line[256];

  if (fp == NULL)
    err (EXIT_FAILURE, "/proc/meminfo");
  while (kb == 0 && fgets (line, sizeof line, fp))
    if (sscanf (line, "MemAvailable: %" SCNu64, &kb) != 1)
      kb = 0;
  fclose (fp);
  engine_must (headroom_create ("", &headroom), "headroom_create");
  left = headroom_left (headroom);
  headroom_destroy (headroom);
  return left < kb * 1024 ? left : kb * 1024;
}

/* As many pages as are wanted, or as there is memory for; by what the small
 * device took.
 */
static uint64_t
pages_that_fit (uint64_t wanted)
{
  uint64_t left = available_bytes (), a_page, fit;
  struct store_stats s;

  store_stats (devices[SMALL].store, &s);
  a_page = (s.mem_resident + s.mem_meta) / SMALL_PAGES + 1;
  fit = left > SPARE_BYTES ? (left - SPARE_BYTES) / a_page : 0;
  if (wanted <= fit)
    return wanted;
  fit -= fit % SMALL_PAGES;
  if (fit < SMALL_PAGES)
    errx (EXIT_FAILURE, "there is no memory for another device");
  warnx ("there is memory for %" PRIu64 " pages, not %" PRIu64, fit, wanted);
  return fit;
}

static uint64_t
target (enum pattern pattern, const struct device *device, unsigned round,
        uint64_t k)
{
  switch (pattern) {
  case SPREAD:
    return order[k] * (device->nr_pages / SMALL_PAGES);
  case BEGINNING:
    return order[k];
  default:
    return random_of (((uint64_t) round << 32 | k) * RANDOM_STEP) %
           device->nr_pages;
  }
}

static void
one_op (enum work work, bool is_bare, const struct device *device, uint64_t idx)
{
  char out[ENGINE_OUT_BYTES];

  if (work == WRITE && is_bare)
    engine_bare_compress (lz4_state, content (idx), out);
  else if (work == WRITE)
    engine_write (device->store, idx, content (idx));
  else if (is_bare)
    engine_bare_decompress (device->store, idx, out);
  else
    engine_read (device->store, idx, out);
}

/* ns an operation. */
static double
run (enum pattern pattern, enum work work, bool is_bare, enum size size,
     unsigned round)
{
  const struct device *device = &devices[size];
  double start = engine_cpu_ns ();
  uint64_t k;

  for (k = 0; k < SMALL_PAGES; ++k)
    one_op (work, is_bare, device, target (pattern, device, round, k));
  return (engine_cpu_ns () - start) / SMALL_PAGES;
}

/* Small, large, small, large. */
static void
by_turns (enum pattern pattern, enum work work, unsigned rounds)
{
  unsigned round, size;

  for (size = 0; size < NR_SIZES; ++size) /* unmeasured */
    run (pattern, work, false, size, rounds);
  for (round = 0; round < rounds; ++round) {
    for (size = 0; size < NR_SIZES; ++size)
      ours[pattern][work][size][round] =
        run (pattern, work, false, size, round);
    for (size = 0; size < NR_SIZES; ++size)
      bare[pattern][work][size][round] = run (pattern, work, true, size, round);
  }
}

static double
ask (enum question question, struct store *store)
{
  double start = engine_cpu_ns ();
  struct zs_class_stats c;
  struct store_stats s;
  unsigned n, i;

  for (n = 0; n < questions[question].times; ++n)
    switch (question) {
    case STATS:
      store_stats (store, &s);
      break;
    case FREEABLE:
      zs_freeable_pages (store->pool);
      break;
    default:
      for (i = 0; i < ZS_NR_SIZES; ++i)
        store_class_stats (store, i, &c);
    }
  return (engine_cpu_ns () - start) / questions[question].times;
}

static void
ask_all (unsigned rounds)
{
  unsigned round, q, size;

  for (q = 0; q < NR_QUESTIONS; ++q)
    for (round = 0; round < rounds; ++round)
      for (size = 0; size < NR_SIZES; ++size)
        asked[q][size][round] = ask (q, devices[size].store);
}

/* Small, large, and the ratio. */
static void
columns (double values[NR_SIZES][MAX_ROUNDS], unsigned rounds)
{
  printf (" %9.1f %9.1f %7.3f", engine_median (values[SMALL], rounds),
          engine_median (values[LARGE], rounds),
          engine_median_ratio (values[LARGE], values[SMALL], rounds));
}

static void
report (unsigned rounds)
{
  unsigned p, w, q, size, i;

  printf ("%" PRIu64 " and %" PRIu64 " pages, medians of %u rounds, ns\n\n"
          "%-36s %9s %9s %7s %9s %9s %7s %7s %7s\n",
          devices[SMALL].nr_pages, devices[LARGE].nr_pages, rounds, "pages",
          "small", "large", "ratio", "LZ4 small", "large", "ratio", "own sm.",
          "large");
  for (p = 0; p < NR_PATTERNS; ++p)
    for (w = 0; w < NR_WORKS; ++w) {
      printf ("%-6s %-29s", work_names[w], pattern_names[p]);
      columns (ours[p][w], rounds);
      columns (bare[p][w], rounds);
      for (size = 0; size < NR_SIZES; ++size) {
        double own[MAX_ROUNDS];

        for (i = 0; i < rounds; ++i)
          own[i] = ours[p][w][size][i] - bare[p][w][size][i];
        printf (" %7.1f", engine_median (own, rounds));
      }
      printf ("\n");
    }
  printf ("\n");
  for (q = 0; q < NR_QUESTIONS; ++q) {
    printf ("%-36s", questions[q].name);
    columns (asked[q], rounds);
    printf ("\n");
  }
}

static void
verify (const struct device *device)
{
  uint8_t page[ZSPAGE_PAGE_SIZE];
  uint64_t i, step = device->nr_pages / SMALL_PAGES;

  for (i = 0; i < device->nr_pages; i += step) {
    engine_read (device->store, i, page);
    if (memcmp (page, content (i), sizeof page) != 0)
      errx (EXIT_FAILURE, "page %" PRIu64 " reads back wrong", i);
  }
}

static void
measure (uint64_t nr_pages, unsigned rounds)
{
  struct codec_pool *codec;
  unsigned p, w, size;

  engine_must (codec_pool_create (CODEC_LZ4, 1, 0, &codec),
               "codec_pool_create");
  lz4_state = engine_lz4_state ();
  order = engine_shuffled (SMALL_PAGES, 1);
  fill (&devices[SMALL], SMALL_PAGES, codec);
  fill (&devices[LARGE], pages_that_fit (nr_pages), codec);
  for (p = 0; p < NR_PATTERNS; ++p)
    for (w = 0; w < NR_WORKS; ++w)
      by_turns (p, w, rounds);
  ask_all (rounds);
  report (rounds);
  for (size = 0; size < NR_SIZES; ++size) {
    verify (&devices[size]);
    store_destroy (devices[size].store);
  }
  free (order);
  free (lz4_state);
  codec_pool_destroy (codec);
}

static const char usage[] =
  "usage: growth-bench [--pages N] [--rounds N] FILE\n"
  "FILE holds pages of 4096 bytes, which the large device has N of [10000000], "
  "at\nleast 100000, over and over.  Rounds: [5], at most 100.\n";
static_assert (DEFAULT_PAGES == 10000000 && SMALL_PAGES == 100000 &&
                 DEFAULT_ROUNDS == 5 && MAX_ROUNDS == 100,
               "as the usage says");

int
main (int argc, char *argv[])
{
  static const struct option options[] = {
    {"pages", required_argument, NULL, 'p'},
    {"rounds", required_argument, NULL, 'r'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  uint64_t nr_pages = DEFAULT_PAGES, rounds = DEFAULT_ROUNDS;
  int c;

  while ((c = getopt_long (argc, argv, "p:r:h", options, NULL)) != -1) {
    switch (c) {
    case 'p':
      nr_pages = usage_number ("--pages", optarg, SMALL_PAGES, UINT32_MAX);
      break;
    case 'r':
      rounds = usage_number ("--rounds", optarg, 1, MAX_ROUNDS);
      break;
    default:
      usage_exit (usage, c == 'h' ? EXIT_SUCCESS : USAGE_STATUS);
    }
  }
  if (argc - optind != 1)
    usage_exit (usage, USAGE_STATUS);
  engine_pages_load (&pages, argv[optind]);
  measure (nr_pages, rounds);
  free (pages.data);
  return EXIT_SUCCESS;
}
