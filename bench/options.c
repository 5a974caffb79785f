/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of nbd-load: parsing, limits and the help text. */

#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "zspage-page.h"

#define SIZE_MIN        4096
#define SIZE_MAX_BYTES  (1024 * 1024)
#define CONNECTIONS_MAX 256
#define DEPTH_MAX       1024
#define SECONDS_MAX     86400

static const char *const op_names[] = {
  [LOAD_READ] = "read",     [LOAD_WRITE] = "write",   [LOAD_MIXED] = "mixed",
  [LOAD_TRIM] = "trim",     [LOAD_VERIFY] = "verify", [LOAD_FLUSH] = "flush",
  [LOAD_REPLAY] = "replay",
};

static const char help[] =
  "nbd-load loads one NBD server and prints what it measured, as a TSV "
  "line.\n"
  "\n"
  "  --uri URI              the server, such as nbd+unix:///?socket=PATH\n"
  "  --op OP                read, write, mixed, trim or verify [read]\n"
  "  --pages FILE           raw 4096-byte pages: what write and mixed send "
  "and\n"
  "                         verify expects; offset modulo its length\n"
  "  --replay FILE          instead of --op: the requests of a recorded "
  "trace,\n"
  "                         in its order, again and again; --depth limits "
  "how\n"
  "                         many of those that were in flight at once are\n"
  "  --pattern PATTERN      random or sequential [random]\n"
  "  --size BYTES           bytes a request, 4K to 1M [4K]\n"
  "  --step N               sequential: only each Nth piece of that size "
  "[1]\n"
  "  --connections N        [1]\n"
  "  --depth N              requests in flight on each connection [1]\n"
  "  --seconds S            stop after S seconds, may be a fraction\n"
  "  --requests N           stop after N requests; with neither of the two,\n"
  "                         as many as cover the span, or are in the "
  "trace,\n"
  "                         once\n"
  "  --span BYTES           use only this much of the device\n"
  "                         [the device, or the pages file if smaller]\n"
  "  --seed N               of the random pattern [1]\n"
  "  --timeout S            fail after S seconds without a reply [60]\n"
  "  --server-pid PID       measure this process's CPU time and memory\n"
  "  --header               print the line of column names first\n"
  "  --columns              print that line and do nothing else\n"
  "  --help\n"
  "\n"
  "BYTES may end in K, M or G.  Exit status: 0, 1 when the load failed or a\n"
  "reply was wrong, 2 when the command line was.\n";

static void __attribute__ ((format (printf, 1, 2), noreturn))
bad_usage (const char *fmt, ...)
{
  va_list ap;

  va_start (ap, fmt);
  fputs ("nbd-load: ", stderr);
  vfprintf (stderr, fmt, ap);
  fputs ("\nTry nbd-load --help.\n", stderr);
  va_end (ap);
  exit (2);
}

/* A whole number in MIN..MAX; with BYTES it may end in K, M or G. */
static uint64_t
parse_number (const char *option, const char *s, bool bytes, uint64_t min,
              uint64_t max)
{
  unsigned long long v = 0;
  uint64_t n = 0;
  unsigned shift = 0;
  bool ok = *s >= '0' && *s <= '9';
  char *end = NULL;

  if (ok) {
    errno = 0;
    v = strtoull (s, &end, 10);
    ok = errno == 0;
  }
  if (ok && bytes && *end != '\0') {
    const char *suffix = strchr ("KMG", *end++);

    ok = suffix != NULL;
    if (ok)
      shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : 30;
  }
  ok = ok && *end == '\0' &&
       !__builtin_mul_overflow (v, UINT64_C (1) << shift, &n);
  if (!ok || n < min || n > max)
    bad_usage ("--%s %s: a number from %llu to %llu is needed", option, s,
               (unsigned long long) min, (unsigned long long) max);
  return n;
}

static uint64_t
parse_seconds (const char *option, const char *s)
{
  char *end;
  double v = strtod (s, &end);

  if (end == s || *end != '\0' || !isfinite (v) || v < 0.001 || v > SECONDS_MAX)
    bad_usage ("--%s %s: seconds from 0.001 to %d are needed", option, s,
               SECONDS_MAX);
  return (uint64_t) (v * 1e9);
}

static enum load_op
parse_op (const char *s)
{
  for (size_t i = 0; i <= LOAD_VERIFY; i++)
    if (strcmp (s, op_names[i]) == 0)
      return (enum load_op) i;
  bad_usage ("--op %s: read, write, mixed, trim or verify is needed", s);
}

static bool
parse_pattern (const char *s)
{
  if (strcmp (s, "random") == 0)
    return true;
  if (strcmp (s, "sequential") == 0)
    return false;
  bad_usage ("--pattern %s: random or sequential is needed", s);
}

enum option_key {
  OPT_URI = 256,
  OPT_OP,
  OPT_PAGES,
  OPT_REPLAY,
  OPT_PATTERN,
  OPT_SIZE,
  OPT_STEP,
  OPT_CONNECTIONS,
  OPT_DEPTH,
  OPT_SECONDS,
  OPT_REQUESTS,
  OPT_SPAN,
  OPT_SEED,
  OPT_TIMEOUT,
  OPT_SERVER_PID,
  OPT_HEADER,
  OPT_COLUMNS,
  OPT_HELP,
};

static const struct option long_options[] = {
  {"uri", required_argument, NULL, OPT_URI},
  {"op", required_argument, NULL, OPT_OP},
  {"pages", required_argument, NULL, OPT_PAGES},
  {"replay", required_argument, NULL, OPT_REPLAY},
  {"pattern", required_argument, NULL, OPT_PATTERN},
  {"size", required_argument, NULL, OPT_SIZE},
  {"step", required_argument, NULL, OPT_STEP},
  {"connections", required_argument, NULL, OPT_CONNECTIONS},
  {"depth", required_argument, NULL, OPT_DEPTH},
  {"seconds", required_argument, NULL, OPT_SECONDS},
  {"requests", required_argument, NULL, OPT_REQUESTS},
  {"span", required_argument, NULL, OPT_SPAN},
  {"seed", required_argument, NULL, OPT_SEED},
  {"timeout", required_argument, NULL, OPT_TIMEOUT},
  {"server-pid", required_argument, NULL, OPT_SERVER_PID},
  {"header", no_argument, NULL, OPT_HEADER},
  {"columns", no_argument, NULL, OPT_COLUMNS},
  {"help", no_argument, NULL, OPT_HELP},
  {NULL, 0, NULL, 0},
};

static void
set_option (struct options *o, int key, const char *name, const char *arg)
{
  switch ((enum option_key) key) {
  case OPT_URI:
    o->uri = arg;
    break;
  case OPT_OP:
    o->op = parse_op (arg);
    break;
  case OPT_PAGES:
    o->pages = arg;
    break;
  case OPT_REPLAY:
    o->replay = arg;
    break;
  case OPT_PATTERN:
    o->random = parse_pattern (arg);
    break;
  case OPT_SIZE:
    o->size = parse_number (name, arg, true, SIZE_MIN, SIZE_MAX_BYTES);
    if (o->size % ZSPAGE_PAGE_SIZE != 0)
      bad_usage ("--size %s: a multiple of 4096 is needed", arg);
    break;
  case OPT_STEP:
    o->step = parse_number (name, arg, false, 1, UINT32_MAX);
    break;
  case OPT_CONNECTIONS:
    o->nr_connections =
      (unsigned) parse_number (name, arg, false, 1, CONNECTIONS_MAX);
    break;
  case OPT_DEPTH:
    o->depth = (unsigned) parse_number (name, arg, false, 1, DEPTH_MAX);
    break;
  case OPT_SECONDS:
    o->seconds_ns = parse_seconds (name, arg);
    break;
  case OPT_REQUESTS:
    o->nr_requests = parse_number (name, arg, false, 1, INT64_MAX);
    break;
  case OPT_SPAN:
    o->span = parse_number (name, arg, true, ZSPAGE_PAGE_SIZE, INT64_MAX);
    break;
  case OPT_SEED:
    o->seed = parse_number (name, arg, false, 0, UINT64_MAX);
    break;
  case OPT_TIMEOUT:
    o->timeout_ns = parse_seconds (name, arg);
    break;
  case OPT_SERVER_PID:
    o->server_pid = (pid_t) parse_number (name, arg, false, 1, INT32_MAX);
    break;
  case OPT_HEADER:
    o->header = true;
    break;
  case OPT_COLUMNS:
    o->columns = true;
    break;
  case OPT_HELP:
    fputs (help, stdout);
    exit (0);
  }
}

const char *
options_op_name (enum load_op op)
{
  return op_names[op];
}

void
options_parse (struct options *o, int argc, char *argv[])
{
  int key, idx;

  *o = (struct options){
    .op = LOAD_READ,
    .random = true,
    .size = SIZE_MIN,
    .step = 1,
    .nr_connections = 1,
    .depth = 1,
    .seed = 1,
    .timeout_ns = UINT64_C (60) * 1000000000,
  };
  while ((key = getopt_long (argc, argv, "", long_options, &idx)) != -1) {
    if (key == '?') {
      fputs ("Try nbd-load --help.\n", stderr);
      exit (2);
    }
    set_option (o, key, long_options[idx].name, optarg);
  }
  if (optind < argc)
    bad_usage ("%s: only options are understood", argv[optind]);
  if (o->columns)
    return;
  if (o->uri == NULL)
    bad_usage ("--uri is needed");
  if (o->replay != NULL) {
    if (o->nr_connections != 1)
      bad_usage ("--replay is for one connection, not %u", o->nr_connections);
    o->op = LOAD_REPLAY; /* it needs --pages only if it writes */
  }
  else if (o->pages == NULL && o->op != LOAD_READ && o->op != LOAD_TRIM)
    bad_usage ("--op %s needs --pages", op_names[o->op]);
  if (o->step != 1 && (o->random || o->op == LOAD_REPLAY))
    bad_usage ("--step %llu is for --pattern sequential",
               (unsigned long long) o->step);
}
