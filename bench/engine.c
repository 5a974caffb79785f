/* SPDX-License-Identifier: BSD-3-Clause */
/* See engine.h. */
#include "engine.h"

#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lz4.h>

#include "random.h"

static_assert (LZ4_COMPRESSBOUND (ZSPAGE_PAGE_SIZE) <= ENGINE_OUT_BYTES,
               "room for any page");

void
engine_must (int r, const char *what)
{
  if (r < 0)
    errx (EXIT_FAILURE, "%s: %s", what, strerror (-r));
}

void *
engine_alloc (size_t bytes)
{
  void *p = malloc (bytes);

  if (p == NULL)
    err (EXIT_FAILURE, "%zu bytes", bytes);
  return p;
}

void
engine_pages_load (struct engine_pages *pages, const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  uint64_t value;
  struct stat st;
  size_t total, i;

  if (fd == -1 || fstat (fd, &st) == -1)
    err (EXIT_FAILURE, "%s", path);
  total = st.st_size / ZSPAGE_PAGE_SIZE;
  *pages = (struct engine_pages){.data = engine_alloc (st.st_size)};
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
  pages->nr_same = total - pages->nr;
}

/* Fisher and Yates. */
uint64_t *
engine_shuffled (size_t nr, uint64_t seed)
{
  uint64_t *order = engine_alloc (nr * sizeof *order);
  size_t i, j;

  for (i = 0; i < nr; ++i) {
    j = random_next (&seed) % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

static double
clock_ns (clockid_t clock)
{
  struct timespec ts;

  clock_gettime (clock, &ts);
  return ts.tv_sec * 1e9 + ts.tv_nsec;
}

double
engine_cpu_ns (void)
{
  return clock_ns (CLOCK_THREAD_CPUTIME_ID);
}

double
engine_process_ns (void)
{
  return clock_ns (CLOCK_PROCESS_CPUTIME_ID);
}

double
engine_elapsed_ns (void)
{
  return clock_ns (CLOCK_MONOTONIC);
}

struct thread {
  pthread_t id;
  pthread_barrier_t *barrier;
  void (*work) (void *object);
  void *object;
  double start;
};

static void *
thread_main (void *arg)
{
  struct thread *t = arg;

  pthread_barrier_wait (t->barrier);
  t->start = engine_elapsed_ns ();
  t->work (t->object);
  pthread_barrier_wait (t->barrier);
  return NULL;
}

double
engine_threads_ns (unsigned nr, void (*work) (void *object), void *objects,
                   size_t bytes)
{
  struct thread threads[ENGINE_THREADS];
  pthread_barrier_t barrier;
  double start = INFINITY, end;
  unsigned i;

  pthread_barrier_init (&barrier, NULL, nr + 1);
  for (i = 0; i < nr; ++i) {
    threads[i] = (struct thread){.barrier = &barrier,
                                 .work = work,
                                 .object = (uint8_t *) objects + i * bytes};
    engine_must (
      -pthread_create (&threads[i].id, NULL, thread_main, &threads[i]),
      "pthread_create");
  }
  pthread_barrier_wait (&barrier);
  pthread_barrier_wait (&barrier);
  end = engine_elapsed_ns ();
  /* Of the first to begin: this thread may find no processor until they end. */
  for (i = 0; i < nr; ++i) {
    pthread_join (threads[i].id, NULL);
    start = threads[i].start < start ? threads[i].start : start;
  }
  pthread_barrier_destroy (&barrier);
  return end - start;
}

static int
compare (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

double
engine_median (const double *values, unsigned nr)
{
  double *sorted = engine_alloc (nr * sizeof *sorted), m;

  memcpy (sorted, values, nr * sizeof *sorted);
  qsort (sorted, nr, sizeof *sorted, compare);
  m = sorted[nr / 2];
  free (sorted);
  return m;
}

double
engine_median_ratio (const double *a, const double *b, unsigned nr)
{
  double *ratios = engine_alloc (nr * sizeof *ratios), m;
  unsigned i;

  for (i = 0; i < nr; ++i)
    ratios[i] = a[i] / b[i];
  m = engine_median (ratios, nr);
  free (ratios);
  return m;
}

struct store *
engine_store (uint64_t nr_pages, struct codec_pool *codec,
              const struct arena_ops *ops)
{
  struct store_config config = {
    .name = "bench",
    .disksize = zspage_align_up (nr_pages * ZSPAGE_PAGE_SIZE, 2 << 20),
    .chain_size = ZS_CHAIN_DFLT,
    .reserve_pages = 16,
    .codec = codec,
    .ops = ops,
  };
  struct store *store;

  engine_must (store_create (&config, &store), "store_create");
  return store;
}

struct store *
engine_store_open (const char *path, uint64_t nr_pages,
                   struct codec_pool *codec)
{
  struct store_config config = {.name = "bench", .codec = codec};
  struct zspage_header wanted;
  struct state_file file;
  struct store *store;
  char why[STATE_WHY];

  engine_must (
    layout_init (&wanted, nr_pages * ZSPAGE_PAGE_SIZE, ZS_CHAIN_DFLT, false),
    "pages of a device");
  if (state_file_open (path, &wanted, &file, why) < 0)
    errx (EXIT_FAILURE, "%s", why);
  config.file = &file;
  engine_must (store_create (&config, &store), path);
  return store;
}

void
engine_write (struct store *store, uint64_t idx, const void *page)
{
  engine_must (
    store_write (store, page, ZSPAGE_PAGE_SIZE, idx * ZSPAGE_PAGE_SIZE),
    "store_write");
}

void
engine_read (struct store *store, uint64_t idx, void *page)
{
  engine_must (
    store_read (store, page, ZSPAGE_PAGE_SIZE, idx * ZSPAGE_PAGE_SIZE),
    "store_read");
}

/* Of words that refer to objects, whose data are here; or data is NULL. */
static uint64_t
words_add_up (const uint64_t *words, uint64_t nr, const uint8_t *data)
{
  uint64_t sum = 0, i;
  uint32_t owner;

  for (i = 0; i < nr; ++i) {
    sum += words[i];
    if (data && slot_has_object (words[i])) {
      memcpy (&owner, data + slot_ref (words[i]) * ZSPAGE_OBJECT_ALIGN,
              sizeof owner);
      sum += owner;
    }
  }
  return sum;
}

static const uint8_t *
map_part (int fd, uint64_t from, uint64_t bytes, int flags)
{
  void *p = mmap (NULL, bytes, PROT_READ, MAP_SHARED | flags, fd, from);

  if (p == MAP_FAILED)
    err (EXIT_FAILURE, "mmap");
  return p;
}

double
engine_file_touch (const char *path, bool with_objects)
{
  const uint8_t *table, *data = NULL;
  struct zspage_header h;
  uint64_t bytes, data_bytes, sum;
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  double start;

  if (fd == -1 || read (fd, &h, sizeof h) != sizeof h)
    err (EXIT_FAILURE, "%s", path);
  bytes = h.disksize / ZSPAGE_PAGE_SIZE * sizeof (uint64_t);
  data_bytes = h.file_bytes - h.data_offset;
  start = engine_elapsed_ns ();
  table = map_part (fd, h.table_offset, bytes, MAP_POPULATE);
  if (with_objects)
    data = map_part (fd, h.data_offset, data_bytes, 0);
  sum =
    words_add_up ((const uint64_t *) table, bytes / sizeof (uint64_t), data);
  munmap ((void *) table, bytes);
  if (data)
    munmap ((void *) data, data_bytes);
  close (fd);
  if (sum == 0)
    errx (EXIT_FAILURE, "%s: the table is empty", path);
  return (engine_elapsed_ns () - start) / 1e6;
}

void *
engine_lz4_state (void)
{
  return engine_alloc (LZ4_sizeofState ());
}

void
engine_bare_compress (void *state, const void *page, char *out)
{
  LZ4_compress_fast_extState (state, page, out, ZSPAGE_PAGE_SIZE,
                              ENGINE_OUT_BYTES, 1);
}

void
engine_bare_decompress (struct store *store, uint64_t idx, char *page)
{
  uint64_t word = slot_get_locked (store, idx);
  const char *data = zs_map (store->pool, slot_ref (word));

  if (slot_kind (word) == SLOT_LZ4)
    LZ4_decompress_safe (data, page, slot_len (word), ZSPAGE_PAGE_SIZE);
  else
    memcpy (page, data, ZSPAGE_PAGE_SIZE);
}
