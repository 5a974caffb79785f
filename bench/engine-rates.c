/* SPDX-License-Identifier: BSD-3-Clause */
/* See engine-rates.h. */
#include "engine-rates.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"

static double kernel_ns;
static char file[4096];

static int
timed_madvise (void *addr, size_t len, int advice)
{
  double start = engine_cpu_ns ();
  int r = madvise (addr, len, advice);

  kernel_ns += engine_cpu_ns () - start;
  return r;
}

static int
timed_fallocate (int fd, int mode, off_t offset, off_t len)
{
  double start = engine_cpu_ns ();
  int r = fallocate (fd, mode, offset, len);

  kernel_ns += engine_cpu_ns () - start;
  return r;
}

const struct arena_ops rates_ops = {
  .madvise = timed_madvise,
  .fallocate = timed_fallocate,
};

double
rates_kernel_ns (void)
{
  double ns = kernel_ns;

  kernel_ns = 0;
  return ns;
}

void
rates_cool (const struct engine_pages *pages)
{
  const volatile uint8_t *p = pages->data;
  size_t i;

  for (i = 0; i < pages->nr * ZSPAGE_PAGE_SIZE; i += ZSPAGE_CACHE_LINE)
    (void) p[i];
}

/* Read the word of each slot, and write the header of its object. */
static void
touch_objects (struct store *store, size_t nr)
{
  size_t i;

  for (i = 0; i < nr; ++i) {
    uint64_t word = slot_get_locked (store, i);
    volatile uint32_t *header;
    uint8_t *p;

    if (!slot_has_object (word))
      continue;
    p = zs_map (store->pool, slot_ref (word));
    if (slot_kind (word) != SLOT_RAW)
      p -= ZSPAGE_OBJECT_HEADER;
    header = (void *) p;
    *header = *header; /* what is there must stay */
  }
}

struct timing
rates_trim (struct store *store, const struct engine_pages *pages)
{
  const uint64_t step = 2 << 20, end = pages->nr * ZSPAGE_PAGE_SIZE;
  struct timing t;
  double start;
  uint64_t at;

  rates_cool (pages);
  start = engine_cpu_ns ();
  touch_objects (store, pages->nr);
  t.limit = (engine_cpu_ns () - start) / pages->nr;

  rates_cool (pages);
  rates_kernel_ns ();
  start = engine_cpu_ns ();
  for (at = 0; at < end; at += step)
    engine_must (store_trim (store, at + step < end ? step : end - at, at),
                 "store_trim");
  t.ours = (engine_cpu_ns () - start) / pages->nr;
  t.kernel = rates_kernel_ns () / pages->nr;
  return t;
}

/* ns each, of copying nr objects of so many bytes from one half of an area to
 * the other.
 */
static double
copy_objects (uint64_t nr, size_t object_bytes, size_t area_bytes,
              const struct engine_pages *pages)
{
  size_t half = area_bytes / 2;
  uint8_t *area = engine_alloc (2 * half);
  uint64_t places = (half - object_bytes) / ZSPAGE_OBJECT_ALIGN;
  uint64_t rng = 1, from, to, i;
  double start;

  memset (area, 1, 2 * half);
  rates_cool (pages);
  start = engine_cpu_ns ();
  for (i = 0; i < nr; ++i) {
    from = random_next (&rng) % places * ZSPAGE_OBJECT_ALIGN;
    to = random_next (&rng) % places * ZSPAGE_OBJECT_ALIGN;
    memcpy (area + half + to, area + from, object_bytes);
  }
  start = engine_cpu_ns () - start;
  free (area);
  return start / nr;
}

static void
trim_half (struct store *store, size_t nr)
{
  uint64_t rng = 3;
  size_t i;

  for (i = 0; i < nr; ++i)
    if (random_next (&rng) & 1)
      engine_must (store_trim (store, ZSPAGE_PAGE_SIZE, i * ZSPAGE_PAGE_SIZE),
                   "store_trim");
}

/* The mean of the objects that are no longer where they were. */
static double
moved_bytes (struct store *store, size_t nr, const uint64_t *was)
{
  uint64_t bytes = 0, moved = 0, word;
  size_t i;

  for (i = 0; i < nr; ++i) {
    word = slot_get_locked (store, i);
    if (slot_has_object (word) && slot_ref (word) != slot_ref (was[i])) {
      bytes += store_class_bytes (store, slot_len (word));
      moved++;
    }
  }
  if (moved == 0)
    errx (EXIT_FAILURE, "compaction moved nothing: more pages are needed");
  return (double) bytes / moved;
}

void
rates_compact (struct store *store, const struct engine_pages *pages,
               struct rates_compaction *is)
{
  uint64_t *was = engine_alloc (pages->nr * sizeof *was);
  double start;
  size_t i;

  trim_half (store, pages->nr);
  for (i = 0; i < pages->nr; ++i)
    was[i] = slot_get_locked (store, i);
  store_stats (store, &is->before);
  rates_cool (pages);
  rates_kernel_ns ();
  start = engine_cpu_ns ();
  is->nr_pages_freed = store_compact (store);
  is->timing.ours = engine_cpu_ns () - start;
  is->timing.kernel = rates_kernel_ns ();
  store_stats (store, &is->after);

  is->nr_objects = is->after.objects_moved - is->before.objects_moved;
  is->object_bytes = moved_bytes (store, pages->nr, was);
  is->timing.ours /= is->nr_objects;
  is->timing.kernel /= is->nr_objects;
  is->timing.limit = copy_objects (is->nr_objects, is->object_bytes,
                                   is->before.mem_used_total, pages);
  free (was);
}

static void
file_remove (void)
{
  unlink (file);
}

void
rates_file_make (const char *dir, const struct engine_pages *pages,
                 struct codec_pool *codec)
{
  struct store *store;
  size_t i;

  snprintf (file, sizeof file, "%s/engine-bench.%d.zspage", dir,
            (int) getpid ());
  atexit (file_remove);
  store = engine_store_open (file, pages->nr, codec);
  for (i = 0; i < pages->nr; ++i)
    engine_write (store, i, engine_page (pages, i));
  store_destroy (store);
}

struct timing
rates_recover (const struct engine_pages *pages, struct codec_pool *codec,
               bool with_objects)
{
  struct timing t = {0};
  struct store *store;
  double start;

  rates_cool (pages);
  t.limit = engine_file_touch (file, with_objects) * 1e6 / pages->nr;
  rates_cool (pages);
  start = engine_elapsed_ns ();
  store = engine_store_open (file, pages->nr, codec);
  t.ours = (engine_elapsed_ns () - start) / pages->nr;
  if (store_recovered (store).pages != pages->nr)
    errx (EXIT_FAILURE, "%s: pages are lost", file);
  store_destroy (store);
  return t;
}
