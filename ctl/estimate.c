/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb estimate: what real pages would cost a server, found out by
 * storing them as the server does, in a store of this process, one codec
 * after the other.  Each page is read back and compared.  With auto, it was
 * recompressed before.
 *
 * Processor time is this thread's, for writing and reading one page at a
 * time, each of them for the first time, as swap does it: that includes
 * finding memory, which the kernel may have to clear first.  Apart from it is
 * what a server does with auto later, while nobody waits.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>
#include <libsmartcols.h>

#include "estimate-auto.h"
#include "message.h"
#include "progress.h"
#include "sample.h"
#include "store.h"
#include "verbs.h"
#include "zspage-page.h"

/* The default levels, 1 of lz4 and 3 of zstd, and what one gets for less and
 * for more time; and auto, which writes by lz4 at its default level.
 */
static const struct candidate {
  enum codec_id codec;
  int level;
  bool is_auto;
} candidates[] = {
  {.codec = CODEC_LZ4, .level = 1},
  {.codec = CODEC_ZSTD, .level = 1},
  {.codec = CODEC_ZSTD, .level = 3},
  {.codec = CODEC_ZSTD, .level = 9},
  {.codec = CODEC_LZ4, .level = 1, .is_auto = true},
};
#define NR_CANDIDATES (sizeof candidates / sizeof candidates[0])

/* Fewer pages than this fill too few zspages to tell what many would take. */
#define FEW_PAGES 4096

/* Pages between two looks at the clock. */
#define BATCH 64

struct outcome {
  uint64_t data_bytes, compr_bytes, memory_bytes, meta_bytes;
  uint64_t same_pages, huge_pages;
  uint64_t write_ns, read_ns; /* of all pages */
  uint64_t later_ns;          /* to train, recompress and compact, with auto */
};

struct run {
  const struct ctl_sample *sample;
  struct ctl_progress progress;
  /* Of this try: how often it handles each page, and how many it handled. */
  unsigned nr_rounds;
  uint64_t nr_handled;
};

static const char *
algorithm (const struct candidate *candidate)
{
  return candidate->is_auto ? "auto" : codec_name (candidate->codec);
}

/* What to call it when there is only a line for it. */
static void
label_text (const struct candidate *candidate, char text[32])
{
  if (candidate->is_auto)
    snprintf (text, 32, "auto");
  else
    snprintf (text, 32, "%s %d", algorithm (candidate), candidate->level);
}

static uint64_t
cpu_now_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &ts);
  return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}

static size_t
batch_end (const struct ctl_sample *sample, size_t i)
{
  return i + BATCH < sample->nr_pages ? i + BATCH : sample->nr_pages;
}

static void
batch_done (struct run *run, size_t nr_pages)
{
  run->nr_handled += nr_pages;
  ctl_progress_update (&run->progress,
                       run->nr_handled * ZSPAGE_PAGE_SIZE / run->nr_rounds);
}

static int
write_pages (struct run *run, struct store *store, uint64_t *ns)
{
  const struct ctl_sample *sample = run->sample;
  size_t i = 0, end;
  uint64_t start_ns;
  int r;

  while (i < sample->nr_pages) {
    const size_t first = i;

    end = batch_end (sample, i);
    start_ns = cpu_now_ns ();
    for (; i < end; i++) {
      r = store_write (store, sample->pages + i * ZSPAGE_PAGE_SIZE,
                       ZSPAGE_PAGE_SIZE, (uint64_t) i * ZSPAGE_PAGE_SIZE);
      if (r < 0)
        return r;
    }
    *ns += cpu_now_ns () - start_ns;
    batch_done (run, end - first);
  }
  return 0;
}

static int
read_pages (struct run *run, struct store *store, uint64_t *ns)
{
  const struct ctl_sample *sample = run->sample;
  unsigned char pages[BATCH * ZSPAGE_PAGE_SIZE];
  size_t i, j, end;
  uint64_t start_ns;
  int r;

  for (i = 0; i < sample->nr_pages; i = end) {
    end = batch_end (sample, i);
    start_ns = cpu_now_ns ();
    for (j = i; j < end; j++) {
      r = store_read (store, pages + (j - i) * ZSPAGE_PAGE_SIZE,
                      ZSPAGE_PAGE_SIZE, (uint64_t) j * ZSPAGE_PAGE_SIZE);
      if (r < 0)
        return r;
    }
    *ns += cpu_now_ns () - start_ns;
    if (memcmp (pages, sample->pages + i * ZSPAGE_PAGE_SIZE,
                (end - i) * ZSPAGE_PAGE_SIZE) != 0)
      return -EIO;
    batch_done (run, end - i);
  }
  return 0;
}

static int
recompress_pages (struct run *run, struct store *store, uint64_t *ns)
{
  const uint64_t nr_pages = run->sample->nr_pages;
  uint64_t at = 0, first, start_ns = cpu_now_ns ();
  bool more = true;
  int r;

  r = ctl_auto_begin (store);
  *ns += cpu_now_ns () - start_ns;
  while (r == 0 && more) {
    first = at;
    start_ns = cpu_now_ns ();
    more = ctl_auto_slice (store, &at);
    *ns += cpu_now_ns () - start_ns;
    at = at < nr_pages ? at : nr_pages;
    batch_done (run, at - first);
  }
  start_ns = cpu_now_ns ();
  ctl_auto_end (store);
  *ns += cpu_now_ns () - start_ns;
  return r;
}

static int
try_store (struct run *run, const struct store_config *config,
           struct outcome *outcome)
{
  struct store_stats first, stats;
  struct store *store;
  int r;

  r = store_create (config, &store);
  if (r < 0)
    return r;
  /* What a device takes from its first page on is no share of the pages. */
  r = store_write (store, run->sample->pages, ZSPAGE_PAGE_SIZE, 0);
  store_stats (store, &first);
  if (r == 0)
    r = write_pages (run, store, &outcome->write_ns);
  if (r == 0 && config->strong)
    r = recompress_pages (run, store, &outcome->later_ns);
  if (r == 0)
    r = read_pages (run, store, &outcome->read_ns);
  store_stats (store, &stats);
  outcome->data_bytes = stats.orig_data_size;
  outcome->compr_bytes = stats.compr_data_size;
  outcome->memory_bytes = stats.mem_used_total;
  outcome->meta_bytes = stats.mem_meta - first.mem_meta;
  outcome->same_pages = stats.same_pages;
  outcome->huge_pages = stats.huge_pages;
  store_destroy (store);
  return r;
}

static int
try_candidate (struct run *run, const struct candidate *candidate,
               const char *label, struct outcome *outcome)
{
  struct store_config config = {
    .name = "estimate",
    .disksize = (uint64_t) run->sample->nr_pages * ZSPAGE_PAGE_SIZE,
    .chain_size = ZS_CHAIN_DFLT,
  };
  int r;

  r = codec_pool_create (candidate->codec, candidate->level, 1, &config.codec);
  if (r == 0 && candidate->is_auto)
    r = ctl_auto_codecs (&config);
  if (r == 0) {
    run->nr_rounds = candidate->is_auto ? 3 : 2;
    run->nr_handled = 0;
    ctl_progress_start (&run->progress, label, config.disksize);
    run->progress.next_tenth = 10; /* a line for each try is enough */
    r = try_store (run, &config, outcome);
    ctl_progress_stop (&run->progress);
  }
  codec_pool_destroy (config.codec);
  codec_pool_destroy (config.dense);
  codec_pool_destroy (config.strong);
  return r;
}

static int
try_all (const struct ctl_sample *sample, struct outcome *outcomes)
{
  struct run run = {.sample = sample};
  char label[32];
  size_t i;
  int r;

  /* The first is tried twice, and only the second time counts: who comes first
   * has to wait for memory more than those after it.
   */
  r = try_candidate (&run, &candidates[0], "warm-up", &outcomes[0]);
  memset (&outcomes[0], 0, sizeof outcomes[0]);
  for (i = 0; i < NR_CANDIDATES && r == 0; i++) {
    label_text (&candidates[i], label);
    r = try_candidate (&run, &candidates[i], label, &outcomes[i]);
  }
  if (r == 0)
    return 0;
  label_text (&candidates[i > 0 ? i - 1 : 0], label);
  if (r == -EIO)
    return ctl_fail ("%s: pages read back are not those written: "
                     "do not use this build",
                     label);
  return ctl_fail ("%s: %s", label, strerror (-r));
}

static uint64_t
all_memory (const struct outcome *o)
{
  return o->memory_bytes + o->meta_bytes;
}

static double
ratio (const struct outcome *o)
{
  return (double) o->data_bytes / (double) all_memory (o);
}

/* Microseconds a page. */
static double
us_per_page (uint64_t ns, const struct ctl_sample *sample)
{
  return (double) ns / 1e3 / (double) sample->nr_pages;
}

static double
percent (uint64_t nr_pages, const struct ctl_sample *sample)
{
  return (double) nr_pages * 100 / (double) sample->nr_pages;
}

static bool
add_row (struct libscols_table *table, const struct candidate *candidate,
         const struct outcome *o, const struct ctl_sample *sample, bool bytes)
{
  struct libscols_line *line = scols_table_new_line (table, NULL);
  char level[16], data[32], compr[32], memory[32], numbers[6][32];
  size_t i;

  if (candidate->is_auto)
    snprintf (level, sizeof level, "-");
  else
    snprintf (level, sizeof level, "%d", candidate->level);
  if (bytes) {
    snprintf (data, sizeof data, "%" PRIu64, o->data_bytes);
    snprintf (compr, sizeof compr, "%" PRIu64, o->compr_bytes);
    snprintf (memory, sizeof memory, "%" PRIu64, all_memory (o));
  }
  else {
    ctl_size_text (o->data_bytes, data);
    ctl_size_text (o->compr_bytes, compr);
    ctl_size_text (all_memory (o), memory);
  }
  snprintf (numbers[0], sizeof numbers[0], "%.2f", ratio (o));
  snprintf (numbers[1], sizeof numbers[1], "%.1f",
            us_per_page (o->write_ns, sample));
  snprintf (numbers[2], sizeof numbers[2], "%.1f",
            us_per_page (o->read_ns, sample));
  snprintf (numbers[3], sizeof numbers[3], "%.1f",
            us_per_page (o->later_ns, sample));
  snprintf (numbers[4], sizeof numbers[4], "%.1f",
            percent (o->huge_pages, sample));
  snprintf (numbers[5], sizeof numbers[5], "%.1f",
            percent (o->same_pages, sample));

  const char *const cells[] = {
    algorithm (candidate),
    level,
    data,
    compr,
    memory,
    numbers[0],
    numbers[1],
    numbers[2],
    numbers[3],
    numbers[4],
    numbers[5],
  };
  for (i = 0; line != NULL && i < sizeof cells / sizeof cells[0]; i++) {
    if (scols_line_set_data (line, i, cells[i]) != 0)
      return false;
  }
  return line != NULL;
}

static int
print_table (const struct ctl_invocation *inv, const struct ctl_sample *sample,
             const struct outcome *outcomes)
{
  static const char *const titles[] = {
    "ALGORITHM", "LEVEL",   "DATA",     "COMPR", "MEMORY", "RATIO",
    "WRITE-US",  "READ-US", "LATER-US", "HUGE%", "SAME%",
  };
  struct libscols_table *table = scols_new_table ();
  bool ok = table != NULL;
  size_t i;

  for (i = 0; ok && i < sizeof titles / sizeof titles[0]; i++)
    ok = scols_table_new_column (table, titles[i], 0,
                                 i > 0 ? SCOLS_FL_RIGHT : 0) != NULL;
  for (i = 0; ok && i < NR_CANDIDATES; i++)
    ok =
      add_row (table, &candidates[i], &outcomes[i], sample, inv->style.bytes);
  if (ok) {
    scols_table_enable_raw (table, inv->style.raw);
    scols_table_enable_noheadings (table, inv->style.noheadings);
    ok = scols_print_table (table) == 0;
  }
  scols_unref_table (table);
  return ok ? 0 : ctl_fail ("cannot print the table: %s", strerror (ENOMEM));
}

static json_t *
row_json (const struct candidate *candidate, const struct outcome *o,
          const struct ctl_sample *sample)
{
  json_t *level =
    candidate->is_auto ? json_null () : json_integer (candidate->level);

  return json_pack (
    "{s:s, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I}", "algorithm",
    algorithm (candidate), "level", level, "data", (json_int_t) o->data_bytes,
    "compr", (json_int_t) o->compr_bytes, "memory", (json_int_t) all_memory (o),
    "ratio", ratio (o), "write_us", us_per_page (o->write_ns, sample),
    "read_us", us_per_page (o->read_ns, sample), "later_us",
    us_per_page (o->later_ns, sample), "huge_pages", (json_int_t) o->huge_pages,
    "same_pages", (json_int_t) o->same_pages);
}

static int
print_json (const struct ctl_sample *sample, const struct outcome *outcomes)
{
  json_t *rows = json_array (), *all;
  size_t i;
  int r;

  for (i = 0; i < NR_CANDIDATES; i++) {
    json_array_append_new (rows,
                           row_json (&candidates[i], &outcomes[i], sample));
  }
  all =
    json_pack ("{s:I, s:I, s:o}", "pages", (json_int_t) sample->nr_pages,
               "pages_in_all", (json_int_t) sample->nr_all, "estimates", rows);
  r = json_dumpf (all, stdout, JSON_INDENT (2) | JSON_REAL_PRECISION (6));
  putchar ('\n');
  json_decref (all);
  return r == 0 ? 0 : ctl_fail ("cannot print: %s", strerror (ENOMEM));
}

int
ctl_estimate (const struct ctl_invocation *inv)
{
  struct outcome outcomes[NR_CANDIDATES] = {{0}};
  struct ctl_sample sample;
  size_t max_pages = (size_t) inv->max_pages;
  int r;

  if (inv->pid == 0 && inv->file == NULL)
    return ctl_usage ("estimate: --pid or --file is needed");
  if (inv->pid != 0 && inv->file != NULL)
    return ctl_usage ("estimate: takes --pid or --file, not both");
  if (max_pages == 0)
    max_pages = ctl_sample_sensible_pages ();
  r = inv->pid != 0 ? ctl_sample_process (&sample, inv->pid, max_pages)
                    : ctl_sample_file (&sample, inv->file, max_pages);
  if (r < 0)
    return ctl_fail ("%s", sample.msg);

  r = try_all (&sample, outcomes);
  if (r == 0 && inv->json)
    r = print_json (&sample, outcomes);
  else if (r == 0) {
    if (sample.nr_all > sample.nr_pages)
      fprintf (stderr, "zspagectl: %zu pages stand for %" PRIu64 "\n",
               sample.nr_pages, sample.nr_all);
    if (sample.nr_pages < FEW_PAGES)
      fprintf (stderr,
               "zspagectl: %zu pages are few: among many others, they would "
               "take less MEMORY\n",
               sample.nr_pages);
    r = print_table (inv, &sample, outcomes);
  }
  ctl_sample_fini (&sample);
  return r;
}
