/* SPDX-License-Identifier: BSD-3-Clause */
/* nbd-load: load one NBD server and print what it measured as a TSV line.
 *
 * One thread a connection.  All connections are made before the load starts
 * and closed after the server's CPU time has been read, so what is measured is
 * the service of requests and not the coming and going of clients.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnbd.h>

#include "connection.h"
#include "histogram.h"
#include "options.h"
#include "pages.h"
#include "procstat.h"
#include "trace.h"
#include "zspage-page.h"

static const char header[] =
  "op\tpattern\tsize\tconnections\tdepth\trequests\tseconds\tiops\tMBps\t"
  "p50_us\tp99_us\tp999_us\tserver_cpu_us_per_op\tserver_cpu_us_per_4k\t"
  "server_rss_kb\tserver_pss_kb\n";

static struct load load;
static struct connection **connections; /* options.nr_connections */
static pthread_barrier_t start_barrier; /* the threads and main */

/* The server before and after; ok is false when it was not to be measured. */
struct server_cost {
  bool ok;
  uint64_t cpu_ns;
  uint64_t rss_kb, pss_kb;
};

static void *
thread_main (void *arg)
{
  pthread_barrier_wait (&start_barrier);
  connection_run (arg);
  return NULL;
}

static int
complain (const char *what, int r)
{
  fprintf (stderr, "nbd-load: %s: %s\n", what, strerror (-r));
  return -1;
}

/* The trace, if one is to be replayed, and how long requests get. */
static int
open_trace (void)
{
  const struct options *o = &load.options;
  char error[512];

  load.max_len = o->size;
  if (o->op != LOAD_REPLAY)
    return 0;
  if (trace_load (&load.trace, o->replay, error, sizeof error) < 0) {
    fprintf (stderr, "nbd-load: %s\n", error);
    return -1;
  }
  if (load.trace.has[LOAD_WRITE] && o->pages == NULL) {
    fprintf (stderr, "nbd-load: %s: it writes, so --pages is needed\n",
             o->replay);
    return -1;
  }
  load.max_len = load.trace.max_len;
  return 0;
}

static int
open_pages (void)
{
  const struct options *o = &load.options;
  int r;

  if (o->pages == NULL)
    return 0;
  r = pages_open (&load.pages, o->pages, load.max_len);
  if (r == -EINVAL) {
    fprintf (stderr, "nbd-load: %s: not a file of whole 4096-byte pages\n",
             o->pages);
    return -1;
  }
  return r < 0 ? complain (o->pages, r) : 0;
}

/* A trace is replayed where it was recorded; --span says nothing about it. */
static int
check_trace_end (uint64_t size)
{
  if (load.trace.end <= size)
    return 0;
  fprintf (stderr,
           "nbd-load: %s: it needs a device of %" PRIu64
           " bytes, this one has %" PRIu64 "\n",
           load.options.replay, load.trace.end, size);
  return -1;
}

/* Span, slots and tickets, once the device's size is known. */
static int
choose_span (void)
{
  const struct options *o = &load.options;
  int64_t size = nbd_get_size (connections[0]->nbd);
  uint64_t span;

  if (size < ZSPAGE_PAGE_SIZE) {
    fprintf (stderr, "nbd-load: the device is smaller than a page\n");
    return -1;
  }
  span = (uint64_t) size;
  if (o->span != 0) {
    if (o->span > span) {
      fprintf (stderr,
               "nbd-load: --span %" PRIu64 ": the device has only %" PRIu64
               " bytes\n",
               o->span, span);
      return -1;
    }
    span = o->span;
  }
  else if (o->pages != NULL && load.pages.len < span)
    span = load.pages.len;

  load.span = span - span % ZSPAGE_PAGE_SIZE;
  load.nr_slots = (load.span - 1) / o->size + 1;
  if (load.nr_slots > UINT32_MAX) {
    fprintf (stderr, "nbd-load: --span is more than 2^32 requests\n");
    return -1;
  }
  load.nr_tickets = UINT64_MAX;
  if (o->nr_requests != 0)
    load.nr_tickets = o->nr_requests;
  else if (o->seconds_ns == 0)
    load.nr_tickets =
      o->op == LOAD_REPLAY ? load.trace.nr : (load.nr_slots - 1) / o->step + 1;
  return check_trace_end ((uint64_t) size);
}

static int
open_connections (void)
{
  unsigned n = load.options.nr_connections;
  char error[256];

  connections = calloc (n, sizeof *connections);
  if (connections == NULL)
    return complain ("connections", -ENOMEM);
  for (unsigned i = 0; i < n; i++) {
    connections[i] = connection_create (&load, i, error, sizeof error);
    if (connections[i] == NULL) {
      fprintf (stderr, "nbd-load: connection %u: %s\n", i, error);
      return -1;
    }
  }
  return 0;
}

static int
measure_server (struct server_cost *cost, bool memory)
{
  pid_t pid = load.options.server_pid;
  int r = 0;

  cost->ok = pid != 0;
  if (!cost->ok)
    return 0;
  if (memory)
    r = procstat_memory (pid, &cost->rss_kb, &cost->pss_kb);
  if (r == 0)
    r = procstat_cpu_ns (pid, &cost->cpu_ns);
  return r < 0 ? complain ("--server-pid", r) : 0;
}

/* Threads that cannot be created leave no way to open the barrier for those
 * that were, so that error ends the program.
 */
static int
run_threads (struct server_cost *before)
{
  unsigned n = load.options.nr_connections;
  pthread_t *threads = calloc (n, sizeof *threads);
  int r = 0;

  if (threads == NULL)
    return complain ("threads", -ENOMEM);
  pthread_barrier_init (&start_barrier, NULL, n + 1);
  for (unsigned i = 0; i < n; i++) {
    r = pthread_create (&threads[i], NULL, thread_main, connections[i]);
    if (r != 0) {
      complain ("pthread_create", -r);
      exit (1);
    }
  }
  r = measure_server (before, false);
  load.start_ns = connection_now_ns ();
  load.deadline_ns = UINT64_MAX;
  if (load.options.seconds_ns != 0)
    load.deadline_ns = load.start_ns + load.options.seconds_ns;
  if (r < 0)
    atomic_store (&load.stop, true);
  pthread_barrier_wait (&start_barrier);
  for (unsigned i = 0; i < n; i++)
    pthread_join (threads[i], NULL);
  pthread_barrier_destroy (&start_barrier);
  free (threads);
  return r;
}

static int
report_errors (void)
{
  int r = 0;

  for (unsigned i = 0; i < load.options.nr_connections; i++) {
    if (connections[i]->error[0] == '\0')
      continue;
    fprintf (stderr, "nbd-load: connection %u: %s\n", i, connections[i]->error);
    r = -1;
  }
  return r;
}

static void
print_cost (const struct server_cost *before, const struct server_cost *after,
            uint64_t nr_requests, uint64_t nr_bytes)
{
  double us = (double) (after->cpu_ns - before->cpu_ns) / 1e3;

  if (!before->ok || !after->ok) {
    printf ("\tNA\tNA\tNA\tNA\n");
    return;
  }
  printf ("\t%.3f", us / (double) nr_requests);
  if (nr_bytes == 0)
    printf ("\tNA"); /* flushes only, or trims of a trace */
  else
    printf ("\t%.3f", us / ((double) nr_bytes / ZSPAGE_PAGE_SIZE));
  printf ("\t%" PRIu64 "\t%" PRIu64 "\n", after->rss_kb, after->pss_kb);
}

static const char *
pattern_name (void)
{
  if (load.options.op == LOAD_REPLAY)
    return "recorded";
  return load.options.random ? "random" : "sequential";
}

/* Bytes a request. */
static size_t
mean_size (void)
{
  return load.options.op == LOAD_REPLAY ? load.trace.mean_len
                                        : load.options.size;
}

static int
print_result (const struct server_cost *before, const struct server_cost *after)
{
  const struct options *o = &load.options;
  static struct histogram all;
  uint64_t last_ns = load.start_ns, nr_bytes = 0;
  double seconds;

  for (unsigned i = 0; i < o->nr_connections; i++) {
    histogram_merge (&all, &connections[i]->latency);
    nr_bytes += connections[i]->nr_bytes;
    if (connections[i]->last_reply_ns > last_ns)
      last_ns = connections[i]->last_reply_ns;
  }
  if (all.nr_values == 0) {
    fprintf (stderr, "nbd-load: no request was made\n");
    return -1;
  }
  seconds = (double) (last_ns - load.start_ns) / 1e9;

  if (o->header)
    fputs (header, stdout);
  printf ("%s\t%s\t%zu\t%u\t%u\t%" PRIu64 "\t%.3f\t%.0f\t%.2f\t%.1f\t%.1f\t"
          "%.1f",
          options_op_name (o->op), pattern_name (), mean_size (),
          o->nr_connections, o->depth, all.nr_values, seconds,
          (double) all.nr_values / seconds, (double) nr_bytes / 1e6 / seconds,
          (double) histogram_quantile (&all, 0.5) / 1e3,
          (double) histogram_quantile (&all, 0.99) / 1e3,
          (double) histogram_quantile (&all, 0.999) / 1e3);
  print_cost (before, after, all.nr_values, nr_bytes);
  if (fflush (stdout) == EOF || ferror (stdout))
    return complain ("stdout", -errno);
  return 0;
}

static int
run (void)
{
  struct server_cost before = {.ok = false}, after = {.ok = false};

  if (open_trace () < 0 || open_pages () < 0 || open_connections () < 0 ||
      choose_span () < 0 || run_threads (&before) < 0)
    return -1;
  if (report_errors () < 0 || measure_server (&after, true) < 0)
    return -1;
  return print_result (&before, &after);
}

static void
clean_up (void)
{
  for (unsigned i = 0; connections && i < load.options.nr_connections; i++)
    connection_destroy (connections[i]);
  free (connections);
  if (load.pages.data != NULL)
    pages_close (&load.pages);
  trace_free (&load.trace);
}

int
main (int argc, char *argv[])
{
  int r;

  options_parse (&load.options, argc, argv);
  if (load.options.columns)
    return fputs (header, stdout) == EOF || fflush (stdout) == EOF ? 1 : 0;
  r = run ();
  clean_up ();
  return r < 0 ? 1 : 0;
}
