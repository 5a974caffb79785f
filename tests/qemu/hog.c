/* SPDX-License-Identifier: BSD-3-Clause */
/* hog MIB PASSES SEED [wait]: use memory, so that a machine swaps, and see
 * whether it keeps what is written there.
 *
 * Each pass writes all pages, every other pass from the last to the first, and
 * then verifies all, in the order that they are swapped in best in, and then
 * some at random.  What a page holds follows from the seed, the pass and its
 * number, so that a page which is old, another page's or another hog's is
 * known for what it is.  With `wait', a line of standard input is awaited after
 * the first pass, and then all is verified once more.
 *
 * It is linked statically, to run in a machine that has little else.
 *
 * Exit status 0 if every page was as written, 1 if not, 2 for other trouble.
 */
#include <config.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE_SIZE      4096
#define PAGE_WORDS     (PAGE_SIZE / 8)
#define PIECE_WORDS    32
#define MAX_COMPLAINTS 10

static uint64_t
mix (uint64_t x)
{
  x = (x ^ (x >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static uint64_t
next (uint64_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* What page `nr' holds in a pass.  Of 32 pages, two are random all over, one is
 * one word repeated, and the others are a third random, in pieces as long as
 * the records of programs.  The first word tells pages apart when they are
 * wrong. */
static void
make_page (uint64_t *page, uint64_t seed, uint64_t pass, uint64_t nr)
{
  uint64_t key = mix (seed ^ mix (pass << 32 ^ nr) ^ 1);
  uint64_t state = key | 1;
  unsigned kind = (unsigned) (nr % 32), i;

  if (kind == 7) {
    for (i = 0; i < PAGE_WORDS; i++)
      page[i] = key;
    return;
  }
  for (i = 0; i < PAGE_WORDS; i++)
    if (kind == 3 || kind == 19 || i % PIECE_WORDS < PIECE_WORDS / 3)
      page[i] = next (&state);
    else
      page[i] = key + i % 4;
  page[0] = key;
}

/* Say what is found where page `nr' of that pass should be. */
static void
complain (const uint64_t *found, const uint64_t *expected, uint64_t seed,
          uint64_t pass, uint64_t nr, uint64_t nr_pages)
{
  static uint64_t page[PAGE_WORDS];
  unsigned i, bad = 0, first = PAGE_WORDS;
  uint64_t p, n;

  for (i = 0; i < PAGE_WORDS; i++)
    if (found[i] != expected[i]) {
      bad++;
      if (first == PAGE_WORDS)
        first = i;
    }
  printf ("hog: pass %" PRIu64 ": page %" PRIu64 " is wrong in %u of %d words, "
          "the first at %u: %016" PRIx64 ", expected %016" PRIx64 "\n",
          pass, nr, bad, PAGE_WORDS, first, found[first], expected[first]);
  for (p = 0; p <= pass; p++)
    for (n = 0; n < nr_pages; n++)
      if (mix (seed ^ mix (p << 32 ^ n) ^ 1) == found[0]) {
        make_page (page, seed, p, n);
        printf ("hog: this is page %" PRIu64 " of pass %" PRIu64 "%s\n", n, p,
                memcmp (page, found, PAGE_SIZE) == 0 ? "" : ", damaged");
        return;
      }
}

static bool
verify (const uint64_t *memory, uint64_t seed, uint64_t pass, uint64_t nr,
        uint64_t nr_pages)
{
  static uint64_t expected[PAGE_WORDS];
  static unsigned complaints;
  const uint64_t *found = memory + nr * PAGE_WORDS;

  make_page (expected, seed, pass, nr);
  if (memcmp (found, expected, PAGE_SIZE) == 0)
    return true;
  if (complaints++ < MAX_COMPLAINTS)
    complain (found, expected, seed, pass, nr, nr_pages);
  return false;
}

/* Verify all pages, and then some at random.  Returns how many were wrong. */
static uint64_t
verify_all (const uint64_t *memory, uint64_t seed, uint64_t pass,
            uint64_t nr_pages)
{
  uint64_t nr, i, state = seed | 1, wrong = 0;

  for (nr = 0; nr < nr_pages; nr++)
    wrong += !verify (memory, seed, pass, nr, nr_pages);
  for (i = 0; i < nr_pages / 64; i++)
    wrong += !verify (memory, seed, pass, next (&state) % nr_pages, nr_pages);
  return wrong;
}

static double
seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

int
main (int argc, char *argv[])
{
  uint64_t mib, passes, seed, nr_pages, pass, nr, i, wrong = 0;
  uint64_t verified = 0;
  double start = seconds ();
  uint64_t *memory;
  int c;
  bool wait = argc == 5 && strcmp (argv[4], "wait") == 0;

  if (argc != 4 && !wait) {
    fprintf (stderr, "usage: hog MIB PASSES SEED [wait]\n");
    return 2;
  }
  mib = strtoull (argv[1], NULL, 10);
  passes = strtoull (argv[2], NULL, 10);
  seed = mix (strtoull (argv[3], NULL, 10) + 1);
  nr_pages = mib * 256;
  if (nr_pages == 0 || nr_pages > UINT32_MAX) {
    fprintf (stderr, "hog: %s MiB cannot be had\n", argv[1]);
    return 2;
  }
  memory = mmap (NULL, nr_pages * PAGE_SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    perror ("hog: mmap");
    return 2;
  }
  setvbuf (stdout, NULL, _IOLBF, 0);

  for (pass = 0; pass < passes; pass++) {
    for (i = 0; i < nr_pages; i++) {
      nr = pass % 2 == 0 ? i : nr_pages - 1 - i;
      make_page (memory + nr * PAGE_WORDS, seed, pass, nr);
    }
    printf ("hog: pass %" PRIu64 ": %" PRIu64 " pages written, %.1f s\n", pass,
            nr_pages, seconds () - start);
    wrong += verify_all (memory, seed, pass, nr_pages);
    verified += nr_pages;
    printf ("hog: pass %" PRIu64 ": %" PRIu64 " pages verified, %" PRIu64
            " wrong so far, %.1f s\n",
            pass, nr_pages, wrong, seconds () - start);
    if (wait && pass == 0) {
      while ((c = getchar ()) != '\n' && c != EOF)
        ;
      wrong += verify_all (memory, seed, pass, nr_pages);
      printf ("hog: pass %" PRIu64 ": verified again, %" PRIu64
              " wrong so far, %.1f s\n",
              pass, wrong, seconds () - start);
    }
  }
  printf ("hog: %" PRIu64 " pages, %" PRIu64 " verified in %" PRIu64
          " passes, %" PRIu64 " wrong\n",
          nr_pages, verified, passes, wrong);
  return wrong == 0 ? 0 : 1;
}
