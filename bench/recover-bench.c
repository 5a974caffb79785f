/* SPDX-License-Identifier: BSD-3-Clause */
/* recover-bench DIR [PAGES [ROUNDS]]: how long a server takes to have its pages
 * back from a state file in DIR, which is a directory on a tmpfs: after it was
 * killed, and after it was closed.  Pages are made up, and compress to some
 * hundred bytes each.  Beside that, what it takes to map the slot table and add
 * it up, which is the least that recovery can do.
 */
#include <config.h>

#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "random.h"
#include "usage.h"

#define BATCH 32u /* pages a write */

static char path[4096];
static uint64_t nr_pages = 10000000;
static struct codec_pool *codec;

/* Some words anywhere in a page that is zero, from 3 to 34 of them. */
static void
make_page (uint64_t *x, uint64_t *page)
{
  unsigned i, n = 3 + random_next (x) % 32;

  memset (page, 0, ZSPAGE_PAGE_SIZE);
  for (i = 0; i < n; ++i)
    page[random_next (x) % (ZSPAGE_PAGE_SIZE / 8)] = random_next (x);
}

static void
fill (void)
{
  static uint64_t pages[BATCH][ZSPAGE_PAGE_SIZE / 8];
  struct store *store = engine_store_open (path, nr_pages, codec);
  uint64_t x = 88172645463325252, idx, i, n;

  for (idx = 0; idx < nr_pages; idx += n) {
    n = nr_pages - idx < BATCH ? nr_pages - idx : BATCH;
    for (i = 0; i < n; ++i)
      make_page (&x, pages[i]);
    engine_must (
      store_write (store, pages, n * ZSPAGE_PAGE_SIZE, idx * ZSPAGE_PAGE_SIZE),
      "store_write");
  }
  raise (SIGKILL);
}

/* Open it, and close it. */
static void
measure (const char *what)
{
  struct store_stats s;
  struct store_recovered is;
  double began = engine_elapsed_ns (), ms;
  struct store *store = engine_store_open (path, nr_pages, codec);

  ms = (engine_elapsed_ns () - began) / 1e6;
  store_stats (store, &s);
  is = store_recovered (store);
  if (is.lost > 0 || is.pages != nr_pages)
    errx (1, "%" PRIu64 " pages are there, %" PRIu64 " are lost", is.pages,
          is.lost);
  printf ("%s\t%" PRIu64 "\t%.0f\t%.2f\t%.0f\t%" PRIu64 "\n", what, is.pages,
          ms, nr_pages / ms / 1e3, engine_file_touch (path, false),
          s.mem_resident >> 20);
  fflush (stdout);
  store_destroy (store);
}

int
main (int argc, char *argv[])
{
  static const char usage[] =
    "usage: recover-bench DIR [PAGES [ROUNDS]]\n"
    "PAGES [10000000] are stored in a file in DIR, on a tmpfs; recovered after "
    "a\nkill, and after closing ROUNDS [3] times.\n";
  char **args = usage_arguments (argc, argv, 1, 3, usage);
  int rounds = 3, status, i;
  pid_t pid;

  if (args[1])
    nr_pages = usage_number ("PAGES", args[1], 1, UINT32_MAX);
  if (args[1] && args[2])
    rounds = usage_number ("ROUNDS", args[2], 1, 1000);
  snprintf (path, sizeof path, "%s/recover-bench.%d.zspage", args[0],
            (int) getpid ());
  engine_must (codec_pool_create (CODEC_LZ4, 1, 0, &codec),
               "codec_pool_create");
  pid = fork ();
  if (pid == -1)
    err (1, "fork");
  if (pid == 0) {
    fill ();
    _exit (1);
  }
  if (waitpid (pid, &status, 0) == -1 || !WIFSIGNALED (status))
    errx (1, "the pages could not be stored");
  printf ("after\tpages\tms\tMpages/s\ttouch_ms\tMiB\n");
  measure ("killed");
  for (i = 0; i < rounds; ++i)
    measure ("closed");
  unlink (path);
  codec_pool_destroy (codec);
  return 0;
}
