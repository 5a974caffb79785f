/* SPDX-License-Identifier: BSD-3-Clause */
/* What test-instructions.sh counts the instructions of: the store's paths, one
 * after the other, in one thread, on pages that are always the same.
 *
 * Callgrind is told where each path begins and ends, and dumps its counts under
 * "PATH PAGES", where PAGES is what they are to be divided by.  All that can
 * differ from one machine to another is kept out: there is one context of the
 * codec, the seed is fixed, and memory comes from the kernel before it counts.
 */
#include <config.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "store.h"

#define EXIT_SKIP 77

#if defined ZSPAGE_DEBUG
#define UNFIT "lock ranks and invariants are checked while it runs"
#elif !__has_include(<valgrind/callgrind.h>)
#define UNFIT "it was built without valgrind/callgrind.h"
#endif

#ifdef UNFIT

int
main (void)
{
  puts (UNFIT);
  return EXIT_SKIP;
}

#else

#include <valgrind/callgrind.h>

#define NR_PAGES      4096
#define REQUEST_PAGES 32  /* 128 KiB */
#define TRIM_PAGES    512 /* 2 MiB */
#define NR_WRITES     5   /* how often all pages are written, at most */

/* Of 16 pages, on average.  Neighbours differ, and so does what a page is
 * replaced with.
 */
static const enum page_kind kinds[16] = {
  PAGE_ZERO,  PAGE_FILL,  PAGE_FILL64, PAGE_TEXT,  PAGE_TEXT,  PAGE_TEXT,
  PAGE_TEXT,  PAGE_TEXT,  PAGE_HALF,   PAGE_HALF,  PAGE_NOISE, PAGE_NOISE,
  PAGE_NOISE, PAGE_NOISE, PAGE_NOISE,  PAGE_RANDOM};

struct engine {
  struct codec_pool *codec;
  struct store *store;
  uint8_t (*data)[ZSPAGE_PAGE_SIZE]; /* NR_PAGES + NR_WRITES of them */
  unsigned nr_writes;                /* page i has data[i + nr_writes] */
  bool is_trimmed[NR_PAGES];
};

static void
must (int r, const char *what)
{
  if (r < 0)
    errx (EXIT_FAILURE, "%s: %s", what, strerror (-r));
}

static uint64_t
offset_of (size_t page)
{
  return (uint64_t) page * ZSPAGE_PAGE_SIZE;
}

/* Overwrite every page with another one, by requests of so many pages. */
static void
write_all (struct engine *e, size_t step)
{
  size_t i;

  if (++e->nr_writes >= NR_WRITES)
    errx (EXIT_FAILURE, "NR_WRITES is too small");
  for (i = 0; i < NR_PAGES; i += step)
    must (store_write (e->store, e->data[i + e->nr_writes], offset_of (step),
                       offset_of (i)),
          "store_write");
  memset (e->is_trimmed, 0, sizeof e->is_trimmed);
}

static void
read_all (struct engine *e, size_t step)
{
  static uint8_t buf[REQUEST_PAGES][ZSPAGE_PAGE_SIZE];
  size_t i;

  for (i = 0; i < NR_PAGES; i += step)
    must (store_read (e->store, buf, offset_of (step), offset_of (i)),
          "store_read");
}

static void
trim_all (struct engine *e, size_t step)
{
  size_t i;

  for (i = 0; i < NR_PAGES; i += step)
    must (store_trim (e->store, offset_of (step), offset_of (i)), "store_trim");
}

static void
compact_all (struct engine *e, size_t step)
{
  (void) step;
  if (store_compact (e->store) == 0)
    errx (EXIT_FAILURE, "compaction freed nothing");
}

/* Trim a random half, page by page.  Returns how many pages are left. */
static size_t
trim_half (struct engine *e, struct rng *rng)
{
  size_t i, nr_left = NR_PAGES;

  for (i = 0; i < NR_PAGES; ++i)
    if (rng_one_in (rng, 2)) {
      must (store_trim (e->store, ZSPAGE_PAGE_SIZE, offset_of (i)),
            "store_trim");
      e->is_trimmed[i] = true;
      nr_left--;
    }
  return nr_left;
}

/* Figures of a store that does something else are worth nothing. */
static void
verify (const struct engine *e)
{
  static const uint8_t zeros[ZSPAGE_PAGE_SIZE];
  uint8_t page[ZSPAGE_PAGE_SIZE];
  const char *why;
  size_t i;

  for (i = 0; i < NR_PAGES; ++i) {
    must (store_read (e->store, page, sizeof page, offset_of (i)),
          "store_read");
    if (memcmp (page, e->is_trimmed[i] ? zeros : e->data[i + e->nr_writes],
                sizeof page) != 0)
      errx (EXIT_FAILURE, "page %zu reads back wrong", i);
  }
  if (store_validate (e->store, &why) < 0)
    errx (EXIT_FAILURE, "store_validate: %s", why);
}

static void
count (struct engine *e, const char *path, size_t nr_pages,
       void (*fn) (struct engine *e, size_t step), size_t step)
{
  char label[64];

  snprintf (label, sizeof label, "%s %zu", path, nr_pages);
  CALLGRIND_ZERO_STATS;
  CALLGRIND_START_INSTRUMENTATION;
  fn (e, step);
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT (label);
}

static void
engine_init (struct engine *e, struct rng *rng)
{
  struct store_config config = {
    .name = "instructions",
    .disksize = offset_of (NR_PAGES),
    .chain_size = ZS_CHAIN_DFLT,
    .reserve_pages = 16,
  };
  size_t i;

  e->data = malloc (offset_of (NR_PAGES + NR_WRITES));
  if (e->data == NULL)
    errx (EXIT_FAILURE, "no memory for the pages");
  for (i = 0; i < NR_PAGES + NR_WRITES; ++i)
    page_make (kinds[rng_below (rng, NELEM (kinds))], rng, e->data[i]);
  must (
    codec_pool_create (CODEC_LZ4, codec_levels (CODEC_LZ4).dflt, 1, &e->codec),
    "codec_pool_create");
  config.codec = e->codec;
  must (store_create (&config, &e->store), "store_create");
}

int
main (void)
{
  static struct engine e;
  struct rng rng = {1};

  if (!RUNNING_ON_VALGRIND) {
    puts ("it counts nothing by itself: see test-instructions.sh");
    return EXIT_SKIP;
  }
  engine_init (&e, &rng);
  write_all (&e, 1);
  count (&e, "write", NR_PAGES, write_all, 1);
  count (&e, "write-128k", NR_PAGES, write_all, REQUEST_PAGES);
  count (&e, "read", NR_PAGES, read_all, 1);
  count (&e, "read-128k", NR_PAGES, read_all, REQUEST_PAGES);
  verify (&e);
  count (&e, "compact", trim_half (&e, &rng), compact_all, 0);
  verify (&e);
  write_all (&e, 1);
  count (&e, "trim", NR_PAGES, trim_all, TRIM_PAGES);
  memset (e.is_trimmed, true, sizeof e.is_trimmed);
  verify (&e);
  store_destroy (e.store);
  codec_pool_destroy (e.codec);
  free (e.data);
  return EXIT_SUCCESS;
}

#endif /* !UNFIT */
