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
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lz4.h>

#include "store-internal.h"

#define ROUNDS      7
#define MAX_THREADS 64

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

static uint8_t *pages;
static size_t nr_pages;
static struct store *store;
static pthread_barrier_t barrier;

struct worker {
  pthread_t thread;
  enum work work;
  uint64_t rng;
  size_t ops;
};

static double
elapsed_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static void
pages_load (const char *path)
{
  int fd = open (path, O_RDONLY);
  uint64_t value;
  struct stat st;
  size_t i;

  if (fd == -1 || fstat (fd, &st) == -1)
    err (EXIT_FAILURE, "%s", path);
  pages = malloc (st.st_size);
  if (pages == NULL)
    err (EXIT_FAILURE, "%s", path);
  for (i = 0; i < (size_t) st.st_size / ZSPAGE_PAGE_SIZE; ++i) {
    uint8_t *page = pages + nr_pages * ZSPAGE_PAGE_SIZE;

    if (read (fd, page, ZSPAGE_PAGE_SIZE) != ZSPAGE_PAGE_SIZE)
      err (EXIT_FAILURE, "%s", path);
    if (!codec_same_filled (page, &value))
      nr_pages++;
  }
  close (fd);
  if (nr_pages == 0)
    errx (EXIT_FAILURE, "%s: no page that is not of one repeated word", path);
}

/* splitmix64 */
static size_t
random_page (struct worker *w)
{
  uint64_t z = (w->rng += UINT64_C (0x9e3779b97f4a7c15));

  z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
  return (z ^ z >> 31) % nr_pages;
}

static void
decompress_bare (size_t i, char *page)
{
  uint64_t word = slot_get_locked (store, i);
  const char *data = zs_map (store->pool, slot_ref (word));

  if (slot_kind (word) == SLOT_LZ4)
    LZ4_decompress_safe (data, page, slot_len (word), ZSPAGE_PAGE_SIZE);
  else
    memcpy (page, data, ZSPAGE_PAGE_SIZE);
}

static int
one_op (enum work work, size_t i, char *state, char *out)
{
  const uint8_t *page = pages + i * ZSPAGE_PAGE_SIZE;
  uint64_t offset = (uint64_t) i * ZSPAGE_PAGE_SIZE;

  switch (work) {
  case BARE_COMPRESS:
    LZ4_compress_fast_extState (state, (const char *) page, out,
                                ZSPAGE_PAGE_SIZE,
                                LZ4_COMPRESSBOUND (ZSPAGE_PAGE_SIZE), 1);
    return 0;
  case WRITE:
    return store_write (store, page, ZSPAGE_PAGE_SIZE, offset);
  case BARE_DECOMPRESS:
    decompress_bare (i, out);
    return 0;
  case READ:
    return store_read (store, out, ZSPAGE_PAGE_SIZE, offset);
  case NR_WORKS:
    break;
  }
  return -EINVAL;
}

static void *
worker_main (void *arg)
{
  struct worker *w = arg;
  char out[LZ4_COMPRESSBOUND (ZSPAGE_PAGE_SIZE)];
  char *state = malloc (LZ4_sizeofState ());
  size_t n;
  int r;

  if (state == NULL)
    err (EXIT_FAILURE, "memory of LZ4");
  pthread_barrier_wait (&barrier);
  for (n = 0; n < w->ops; ++n) {
    r = one_op (w->work, random_page (w), state, out);
    if (r < 0)
      errx (EXIT_FAILURE, "%s", strerror (-r));
  }
  pthread_barrier_wait (&barrier);
  free (state);
  return NULL;
}

/* Nanoseconds from start to end of ops operations in each of nr threads. */
static double
run (enum work work, unsigned nr, size_t ops, unsigned round)
{
  struct worker workers[MAX_THREADS];
  double start;
  unsigned i;

  pthread_barrier_init (&barrier, NULL, nr + 1);
  for (i = 0; i < nr; ++i) {
    workers[i] = (struct worker){
      .work = work, .ops = ops, .rng = (uint64_t) round << 32 | i};
    if (pthread_create (&workers[i].thread, NULL, worker_main, &workers[i]))
      errx (EXIT_FAILURE, "pthread_create");
  }
  pthread_barrier_wait (&barrier);
  start = elapsed_ns ();
  pthread_barrier_wait (&barrier);
  start = elapsed_ns () - start;
  for (i = 0; i < nr; ++i)
    pthread_join (workers[i].thread, NULL);
  pthread_barrier_destroy (&barrier);
  return start;
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static double
median (double *values)
{
  qsort (values, ROUNDS, sizeof *values, compare);
  return values[ROUNDS / 2];
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
  double ns[ROUNDS], ratio[ROUNDS], million = (double) ops * nr * ROUNDS / 1e6;
  unsigned round, i;

  for (round = 0; round < ROUNDS; ++round) {
    double b = run (bare, nr, ops, round);

    waits_now (before);
    ns[round] = run (ours, nr, ops, round);
    waits_now (after);
    ratio[round] = b / ns[round];
    for (i = 0; i < RANK_COUNT; ++i)
      waited[i] += after[i] - before[i];
  }
  printf ("%-6s %7u %12.0f %9.3f  ", name, nr, ops * nr / median (ns) * 1e9,
          median (ratio));
  for (i = 0; i < RANK_COUNT; ++i)
    if (waited[i] > 0)
      printf (" %s %.1f", rank_names[i], waited[i] / million);
  printf ("\n");
}

static void
fill (struct codec_pool *codec)
{
  struct store_config config = {
    .name = "bench",
    .disksize =
      zspage_align_up ((uint64_t) nr_pages * ZSPAGE_PAGE_SIZE, 2 << 20),
    .chain_size = ZS_CHAIN_DFLT,
    .reserve_pages = 16,
    .codec = codec,
  };
  size_t i;

  if (store_create (&config, &store) < 0)
    errx (EXIT_FAILURE, "store_create");
  for (i = 0; i < nr_pages; ++i)
    if (store_write (store, pages + i * ZSPAGE_PAGE_SIZE, ZSPAGE_PAGE_SIZE,
                     (uint64_t) i * ZSPAGE_PAGE_SIZE) < 0)
      errx (EXIT_FAILURE, "store_write");
}

int
main (int argc, char *argv[])
{
  unsigned most = argc > 2 ? (unsigned) atoi (argv[2]) : 4, nr;
  struct codec_pool *codec;

  if (argc < 2 || most < 1 || most > MAX_THREADS) {
    fprintf (stderr,
             "usage: scaling-bench FILE [THREADS]\n"
             "FILE holds pages of 4096 bytes; 1, 2, 4 and so on to THREADS "
             "[4], at most %d.\n",
             MAX_THREADS);
    return EXIT_FAILURE;
  }
  pages_load (argv[1]);
  if (codec_pool_create (CODEC_LZ4, 1, 0, &codec) < 0)
    errx (EXIT_FAILURE, "codec_pool_create");
  fill (codec);
  printf ("%zu pages, random, medians of %d rounds\n"
          "       threads      pages/s  of bare   waits per million "
          "operations, by lock\n",
          nr_pages, ROUNDS);
  for (nr = 1; nr <= most; nr *= 2) {
    report (BARE_COMPRESS, WRITE, "write", nr, nr_pages / nr);
    report (BARE_DECOMPRESS, READ, "read", nr, nr_pages / nr);
  }
  store_destroy (store);
  codec_pool_destroy (codec);
  free (pages);
  return EXIT_SUCCESS;
}
