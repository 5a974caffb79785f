/* SPDX-License-Identifier: BSD-3-Clause */

/* zspage-pages: gets pages to try the server with, and tries it with them.
 * Not installed: a tool for tests, benchmarks and quickstart.
 *
 * This file owns the command line: the table of verbs, their options, and
 * the turning of results into text and exit status.  The work is done in the
 * file named after each idea.  Exit status is 0 when all is well, 1 when
 * verify found a difference, 2 for any error.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "capture.h"
#include "generate.h"
#include "info.h"
#include "transfer.h"
#include "zspage-page.h"

#define EXIT_DIFFERS 1
#define EXIT_ERROR   2

#define MAX_PIDS     256

struct verb {
  const char *name;
  const char *synopsis;
  const char *help;
  int (*run) (const struct verb *verb, int argc, char *argv[]);
};

static int error (const char *fs, ...) __attribute__ ((format (printf, 1, 2)));

static int
error (const char *fs, ...)
{
  va_list args;

  fputs ("zspage-pages: ", stderr);
  va_start (args, fs);
  vfprintf (stderr, fs, args);
  va_end (args);
  fputc ('\n', stderr);
  return EXIT_ERROR;
}

static int
usage (const struct verb *verb)
{
  return error ("usage: zspage-pages %s %s\n"
                "Try 'zspage-pages %s --help'.",
                verb->name, verb->synopsis, verb->name);
}

static int
help (const struct verb *verb)
{
  printf ("Usage: zspage-pages %s %s\n\n%s", verb->name, verb->synopsis,
          verb->help);
  return EXIT_SUCCESS;
}

static int
bad_number (const char *option, const char *arg, uint64_t min, uint64_t max)
{
  return error ("--%s=%s: a number from %" PRIu64 " to %" PRIu64 " is needed",
                option, arg, min, max);
}

/* A file that pages are being written to. */
struct sink {
  const char *file;
  int fd;
};

/* Pages of a process may hold its secrets, so a regular file is closed to
 * others before anything is written to it, even if it existed before.
 */
static int
sink_open (struct sink *sink, const char *file, bool append)
{
  struct stat st;

  sink->file = file;
  sink->fd = open (file, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
  if (sink->fd == -1 || fstat (sink->fd, &st) == -1)
    goto fail;
  if (S_ISREG (st.st_mode)) {
    if (fchmod (sink->fd, 0600) == -1)
      goto fail;
    if (!append && ftruncate (sink->fd, 0) == -1)
      goto fail;
    if (append && st.st_size % ZSPAGE_PAGE_SIZE != 0) {
      error ("%s: %jd bytes are not whole pages, so nothing is appended", file,
             (intmax_t) st.st_size);
      close (sink->fd);
      return -EINVAL;
    }
  }
  return 0;

fail:
  error ("%s: %s", file, strerror (errno));
  if (sink->fd != -1)
    close (sink->fd);
  return -EINVAL;
}

static int
sink_write (void *opaque, const unsigned char *pages, size_t nr_pages)
{
  struct sink *sink = opaque;
  size_t len = nr_pages * ZSPAGE_PAGE_SIZE;
  ssize_t n;

  while (len > 0) {
    n = write (sink->fd, pages, len);
    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1) {
      const int err = errno;

      error ("%s: %s", sink->file, strerror (err));
      return -err;
    }
    pages += n;
    len -= (size_t) n;
  }
  return 0;
}

/* Some file systems tell only now that the data did not fit. */
static int
sink_close (struct sink *sink)
{
  if (close (sink->fd) == -1) {
    error ("%s: %s", sink->file, strerror (errno));
    return -EIO;
  }
  return 0;
}

static int
capture_pids (const pid_t *pids, unsigned nr_pids, uint64_t max_pages,
              struct sink *sink, struct ctl_capture_counts *counts)
{
  char msg[CTL_CAPTURE_MSG_LEN];
  int status = EXIT_SUCCESS;
  unsigned i;
  int r;

  for (i = 0; i < nr_pids; i++) {
    if (max_pages > 0 && counts->nr_captured >= max_pages)
      break;
    r = ctl_capture_process (
      pids[i], max_pages > 0 ? max_pages - counts->nr_captured : 0, sink_write,
      sink, counts, msg);
    if (r == 0)
      continue;
    status = EXIT_ERROR;
    if (msg[0] == '\0') /* the sink has spoken */
      break;
    error ("%s", msg);
  }
  return status;
}

static int
run_capture (const struct verb *verb, int argc, char *argv[])
{
  static const struct option options[] = {
    {"pid", required_argument, NULL, 'p'},
    {"max-pages", required_argument, NULL, 'n'},
    {"append", no_argument, NULL, 'a'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  struct ctl_capture_counts counts = {0};
  uint64_t max_pages = 0, pid;
  pid_t pids[MAX_PIDS];
  unsigned nr_pids = 0;
  bool append = false;
  struct sink sink;
  int c, status;

  while ((c = getopt_long (argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 'p':
      if (ctl_parse_decimal (optarg, INT_MAX, &pid) < 0 || pid == 0)
        return bad_number ("pid", optarg, 1, INT_MAX);
      if (nr_pids == MAX_PIDS)
        return error ("--pid: more than %d processes", MAX_PIDS);
      pids[nr_pids++] = (pid_t) pid;
      break;
    case 'n':
      if (ctl_parse_number (optarg, UINT64_MAX, &max_pages) < 0 ||
          max_pages == 0)
        return bad_number ("max-pages", optarg, 1, UINT64_MAX);
      break;
    case 'a':
      append = true;
      break;
    case 'h':
      return help (verb);
    default:
      return usage (verb);
    }
  }
  if (nr_pids == 0 || optind != argc - 1)
    return usage (verb);
  if (sink_open (&sink, argv[optind], append) < 0)
    return EXIT_ERROR;

  status = capture_pids (pids, nr_pids, max_pages, &sink, &counts);
  if (sink_close (&sink) < 0)
    status = EXIT_ERROR;
  printf ("%" PRIu64 " pages (%.1f MB) written to %s; skipped: %" PRIu64
          " on swap, %" PRIu64 " unreadable, %" PRIu64 " never written to\n",
          counts.nr_captured,
          (double) counts.nr_captured * ZSPAGE_PAGE_SIZE / 1e6, argv[optind],
          counts.nr_swapped, counts.nr_unreadable, counts.nr_untouched);
  if (status == EXIT_SUCCESS && counts.nr_captured == 0)
    status = error ("no resident anonymous pages in any of these processes");
  return status;
}

static int
generate_pages (enum ctl_kind kind, uint64_t seed, uint64_t nr_pages,
                struct sink *sink)
{
  unsigned char pages[64 * ZSPAGE_PAGE_SIZE];
  uint64_t idx = 0;
  size_t i, nr;

  while (idx < nr_pages) {
    nr = sizeof pages / ZSPAGE_PAGE_SIZE;
    if (nr > nr_pages - idx)
      nr = (size_t) (nr_pages - idx);
    for (i = 0; i < nr; i++)
      ctl_generate_page (kind, seed, idx++, &pages[i * ZSPAGE_PAGE_SIZE]);
    if (sink_write (sink, pages, nr) < 0)
      return EXIT_ERROR;
  }
  return EXIT_SUCCESS;
}

static int
run_generate (const struct verb *verb, int argc, char *argv[])
{
  static const struct option options[] = {
    {"kind", required_argument, NULL, 'k'},
    {"seed", required_argument, NULL, 's'},
    {"pages", required_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  const uint64_t max_pages = INT64_MAX / ZSPAGE_PAGE_SIZE;
  enum ctl_kind kind = CTL_NR_KINDS;
  uint64_t seed = 0, nr_pages = 16384;
  bool has_seed = false;
  struct sink sink;
  int c, status;

  while ((c = getopt_long (argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 'k':
      if (ctl_kind_parse (optarg, &kind) < 0)
        return error ("--kind=%s: not one of incompressible, same-filled, "
                      "text, mixed",
                      optarg);
      break;
    case 's':
      if (ctl_parse_number (optarg, UINT64_MAX, &seed) < 0)
        return bad_number ("seed", optarg, 0, UINT64_MAX);
      has_seed = true;
      break;
    case 'n':
      if (ctl_parse_number (optarg, max_pages, &nr_pages) < 0 || nr_pages == 0)
        return bad_number ("pages", optarg, 1, max_pages);
      break;
    case 'h':
      return help (verb);
    default:
      return usage (verb);
    }
  }
  if (kind == CTL_NR_KINDS || optind != argc - 1)
    return usage (verb);
  if (!has_seed && getrandom (&seed, sizeof seed, 0) != sizeof seed)
    return error ("no random seed: %s", strerror (errno));
  if (sink_open (&sink, argv[optind], false) < 0)
    return EXIT_ERROR;

  status = generate_pages (kind, seed, nr_pages, &sink);
  if (sink_close (&sink) < 0)
    status = EXIT_ERROR;
  if (status == EXIT_SUCCESS)
    printf ("%" PRIu64 " pages written to %s; kind %s, seed %" PRIu64 "\n",
            nr_pages, argv[optind], ctl_kind_name (kind), seed);
  return status;
}

/* The command line of store and verify.  Returns -1, or an exit status if
 * there is nothing left to do.
 */
static int
parse_transfer (const struct verb *verb, int argc, char *argv[],
                struct ctl_transfer *t)
{
  static const struct option options[] = {
    {"connections", required_argument, NULL, 'c'},
    {"request-size", required_argument, NULL, 'r'},
    {"offset", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  uint64_t nr;
  int c;

  *t = (struct ctl_transfer){.request_bytes = 131072, .nr_connections = 1};
  while ((c = getopt_long (argc, argv, "", options, NULL)) != -1) {
    switch (c) {
    case 'c':
      if (ctl_parse_number (optarg, CTL_MAX_CONNECTIONS, &nr) < 0 || nr == 0)
        return bad_number ("connections", optarg, 1, CTL_MAX_CONNECTIONS);
      t->nr_connections = (unsigned) nr;
      break;
    case 'r':
      if (ctl_parse_size (optarg, CTL_MAX_REQUEST_BYTES, &nr) < 0 || nr == 0)
        return bad_number ("request-size", optarg, 1, CTL_MAX_REQUEST_BYTES);
      t->request_bytes = (size_t) nr;
      break;
    case 'o':
      if (ctl_parse_size (optarg, INT64_MAX, &t->offset) < 0)
        return bad_number ("offset", optarg, 0, INT64_MAX);
      break;
    case 'h':
      return help (verb);
    default:
      return usage (verb);
    }
  }
  if (optind != argc - 2)
    return usage (verb);
  t->uri = argv[optind];
  t->file = argv[optind + 1];
  return -1;
}

static void
report_transfer (const char *what, const struct ctl_transfer *t,
                 const struct ctl_transfer_result *res)
{
  const double mb = (double) res->nr_bytes / 1e6;
  const double seconds = (double) res->ns / 1e9;

  if (res->nr_connections < t->nr_connections)
    error ("the server does not allow several connections (multi-conn); "
           "used 1");
  printf ("%s %" PRIu64 " pages, %.1f MB, in %.2f s: %.0f MB/s over %u "
          "connection%s\n",
          what, res->nr_bytes / ZSPAGE_PAGE_SIZE, mb, seconds,
          seconds > 0 ? mb / seconds : 0, res->nr_connections,
          res->nr_connections == 1 ? "" : "s");
}

static int
run_store (const struct verb *verb, int argc, char *argv[])
{
  struct ctl_transfer_result res;
  struct ctl_transfer t;
  int status;

  status = parse_transfer (verb, argc, argv, &t);
  if (status != -1)
    return status;
  if (ctl_store (&t, &res) < 0)
    return error ("%s", res.msg);
  report_transfer ("stored", &t, &res);
  return EXIT_SUCCESS;
}

static int
run_verify (const struct verb *verb, int argc, char *argv[])
{
  struct ctl_transfer_result res;
  struct ctl_transfer t;
  int status;

  status = parse_transfer (verb, argc, argv, &t);
  if (status != -1)
    return status;
  if (ctl_verify (&t, &res) < 0)
    return error ("%s", res.msg);
  if (res.differs) {
    printf ("%s differs from page %" PRIu64 " on: byte %" PRIu64
            " of the file is 0x%02x, byte %" PRIu64 " of the device is "
            "0x%02x\n",
            t.file, res.differs_at / ZSPAGE_PAGE_SIZE, res.differs_at,
            res.expected, t.offset + res.differs_at, res.found);
    return EXIT_DIFFERS;
  }
  report_transfer ("verified", &t, &res);
  return EXIT_SUCCESS;
}

static int
run_info (const struct verb *verb, int argc, char *argv[])
{
  static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
  };
  struct ctl_info info;
  int c, r;

  while ((c = getopt_long (argc, argv, "", options, NULL)) != -1)
    return c == 'h' ? help (verb) : usage (verb);
  if (optind != argc - 1)
    return usage (verb);

  r = ctl_info_read (argv[optind], &info);
  if (r < 0)
    return error ("%s: %s", argv[optind], strerror (-r));
  printf ("pages        %12" PRIu64 "\n"
          "same-filled  %12" PRIu64 "\n"
          "  zero       %12" PRIu64 "\n",
          info.nr_pages, info.nr_same_filled, info.nr_zero);
  if (info.nr_rest_bytes > 0)
    return error ("%s: %" PRIu64 " bytes after the last whole page",
                  argv[optind], info.nr_rest_bytes);
  return EXIT_SUCCESS;
}

#define TRANSFER_OPTIONS                                                       \
  "  --connections=N      use N connections [1], if the server allows\n"       \
  "                       several (multi-conn)\n"                              \
  "  --request-size=SIZE  bytes a request [128K], 16 requests in flight a\n"   \
  "                       connection\n"                                        \
  "  --offset=SIZE        where on the device the file begins [0]\n"           \
  "  --help               show this text\n"                                    \
  "\n"                                                                         \
  "SIZE is in bytes, or with a suffix K, M, G or T.  URI is such as\n"         \
  "nbd://localhost or nbd+unix:///NAME?socket=PATH.\n"

static const struct verb verbs[] = {
  {"capture", "--pid=PID... [OPTION]... FILE",
   "Write the resident anonymous pages of running processes, those that\n"
   "could be swapped out, to FILE, mode 0600.  FILE may then hold whatever\n"
   "is secret in these processes.\n"
   "\n"
   "  --pid=PID            the process; may be given several times\n"
   "  --max-pages=N        stop after N pages in all\n"
   "  --append             add to FILE instead of replacing it\n"
   "  --help               show this text\n"
   "\n"
   "Processes of other users, and with kernel.yama.ptrace_scope above 0 "
   "even\n"
   "one's own, need root.  The processes run on meanwhile.  Should one "
   "fail,\n"
   "the others are captured nevertheless, and the exit status is 2.\n",
   run_capture},
  {"generate", "--kind=KIND [OPTION]... FILE",
   "Write made-up pages to FILE.\n"
   "\n"
   "  --kind=KIND          one of\n"
   "      incompressible   random bytes\n"
   "      same-filled      1/2 zero pages, 1/4 a 32-bit word repeated, 1/4 "
   "a\n"
   "                       64-bit word repeated\n"
   "      text             English words, numbers and lines\n"
   "      mixed            1/8 same-filled, 1/8 incompressible, 3/8 text, "
   "3/8\n"
   "                       text that turns into random bytes at a random\n"
   "                       point\n"
   "  --seed=N             the same N makes the same pages [random]; "
   "printed\n"
   "  --pages=N            how many [16384, which are 64 MiB]\n"
   "  --help               show this text\n",
   run_generate},
  {"store", "[OPTION]... URI FILE",
   "Write the pages of FILE to the NBD server at URI, over what is there.\n"
   "\n" TRANSFER_OPTIONS,
   run_store},
  {"verify", "[OPTION]... URI FILE",
   "Read back what store wrote and compare every byte.  Exit status 1 if\n"
   "any differs; the first one is shown.\n"
   "\n" TRANSFER_OPTIONS,
   run_verify},
  {"info", "FILE",
   "Count the pages of FILE: all, those filled with one repeated 8-byte "
   "word,\n"
   "and of these those of zeros.\n",
   run_info},
};

static void
help_all (FILE *fp)
{
  size_t i;

  fputs ("Usage:\n", fp);
  for (i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
    fprintf (fp, "  zspage-pages %s %s\n", verbs[i].name, verbs[i].synopsis);
  fputs ("\n"
         "Gets pages, from running processes or made up, and tries an NBD\n"
         "server with them.  'zspage-pages VERB --help' tells more.\n"
         "Exit status: 0 all is well, 1 verify found a difference, 2 error.\n",
         fp);
}

int
main (int argc, char *argv[])
{
  size_t i;

  if (argc < 2) {
    help_all (stderr);
    return EXIT_ERROR;
  }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "help") == 0) {
    help_all (stdout);
    return EXIT_SUCCESS;
  }
  for (i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
    if (strcmp (argv[1], verbs[i].name) == 0)
      return verbs[i].run (&verbs[i], argc - 1, argv + 1);
  }
  error ("%s: no such verb", argv[1]);
  help_all (stderr);
  return EXIT_ERROR;
}
