/* SPDX-License-Identifier: BSD-3-Clause */
/* bare-codec FILE: the least that compressing and decompressing the pages of
 * FILE takes, in CPU time of one thread: what a server which compresses cannot
 * do without, however good it is.
 *
 * Pages are compressed one after the other with a state that is reused, and
 * their compressed copies, which lie end to end, are then decompressed in
 * random order, as random reads do.  Pages of one repeated word are left out,
 * as no server has to compress them; a page which LZ4 does not make smaller is
 * copied, as a server would store it as it is.
 *
 * One pass over all pages runs unmeasured first, which takes the page faults.
 */

#include <config.h>

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lz4.h>

#include "codec.h"
#include "pages.h"
#include "usage.h"
#include "zspage-page.h"

struct object {
  size_t at;    /* where in copies */
  uint16_t len; /* bytes; ZSPAGE_PAGE_SIZE: stored as it is */
};

static struct pages pages;
static const uint8_t **originals; /* nr of them, none same-filled */
static struct object *objects;    /* likewise */
static size_t nr, nr_same;
static char *copies;
static char *state; /* of LZ4 */

static void *
allocate (size_t n, size_t size)
{
  void *p = calloc (n, size);

  if (p == NULL)
    err (EXIT_FAILURE, "memory");
  return p;
}

static double
cpu_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &ts);
  return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static void
choose_pages (void)
{
  size_t total = pages.len / ZSPAGE_PAGE_SIZE;
  uint64_t word;

  originals = allocate (total, sizeof *originals);
  for (size_t i = 0; i < total; i++) {
    const uint8_t *page = pages_at (&pages, i * ZSPAGE_PAGE_SIZE);

    if (codec_same_filled (page, &word))
      nr_same++;
    else
      originals[nr++] = page;
  }
}

/* ns a page. */
static double
compress (void)
{
  double start = cpu_ns ();
  size_t at = 0;

  for (size_t i = 0; i < nr; i++) {
    /* Less than a page, or it is not worth it. */
    int len = LZ4_compress_fast_extState (state, (const char *) originals[i],
                                          copies + at, ZSPAGE_PAGE_SIZE,
                                          ZSPAGE_PAGE_SIZE - 1, 1);

    if (len == 0) {
      memcpy (copies + at, originals[i], ZSPAGE_PAGE_SIZE);
      len = ZSPAGE_PAGE_SIZE;
    }
    objects[i] = (struct object){.at = at, .len = (uint16_t) len};
    at += (size_t) len;
  }
  return (cpu_ns () - start) / (double) nr;
}

/* Fisher and Yates, from a fixed seed, so that rounds differ in nothing. */
static void
shuffle (void)
{
  uint64_t x = UINT64_C (0x9e3779b97f4a7c15);

  for (size_t i = nr - 1; i > 0; i--) {
    struct object o = objects[i];
    size_t j;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    j = x % (i + 1);
    objects[i] = objects[j];
    objects[j] = o;
  }
}

/* ns a page. */
static double
decompress (void)
{
  char page[ZSPAGE_PAGE_SIZE];
  double start = cpu_ns ();

  for (size_t i = 0; i < nr; i++) {
    const char *data = copies + objects[i].at;

    if (objects[i].len == ZSPAGE_PAGE_SIZE)
      memcpy (page, data, sizeof page);
    else if (LZ4_decompress_safe (data, page, objects[i].len, sizeof page) !=
             ZSPAGE_PAGE_SIZE)
      errx (EXIT_FAILURE, "LZ4 does not decompress what it compressed");
    __asm__ volatile("" : : "r"(page) : "memory");
  }
  return (cpu_ns () - start) / (double) nr;
}

int
main (int argc, char *argv[])
{
  double compress_ns, decompress_ns;
  int r;

  argv = usage_arguments (argc, argv, 1, 1,
                          "usage: bare-codec FILE\n"
                          "FILE holds pages of 4096 bytes.\n");
  r = pages_open (&pages, argv[0], ZSPAGE_PAGE_SIZE);
  if (r < 0)
    errx (EXIT_FAILURE, "%s: %s", argv[0], strerror (-r));
  choose_pages ();
  if (nr == 0)
    errx (EXIT_FAILURE, "%s: all pages are of one repeated word", argv[0]);
  state = allocate (1, (size_t) LZ4_sizeofState ());
  objects = allocate (nr, sizeof *objects);
  copies = allocate (nr, ZSPAGE_PAGE_SIZE);
  compress ();
  compress_ns = compress ();
  shuffle ();
  decompress_ns = decompress ();
  printf ("pages\tsame_filled\tcompress_ns\tdecompress_ns\n"
          "%zu\t%zu\t%.1f\t%.1f\n",
          nr, nr_same, compress_ns, decompress_ns);
  if (fflush (stdout) == EOF)
    err (EXIT_FAILURE, "stdout");
  free (copies);
  free (objects);
  free (state);
  free (originals);
  pages_close (&pages);
  return 0;
}
