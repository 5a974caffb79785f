/* SPDX-License-Identifier: BSD-3-Clause */
/* See kill-scenarios.h. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dictionary-pages.h"
#include "fault-point.h"
#include "kill-scenarios.h"
#include "zspool-internal.h"

#define MAX_LEN (24 * PAGE) /* several threads compress that */

/* All there are. */
const char *const points[NR_POINTS] = {
  "checks: before is set",
  "checks: now is set",
  "chunk: classes cleared",
  "chunk: started",
  "class: zspage added",
  "compact: object copied",
  "compact: slot repointed",
  "dictionary: bytes are saved",
  "dictionary: is forgotten",
  "dictionary: is saved",
  "discard: slots emptied",
  "recompress: in work",
  "recover: chunk",
  "recover: slot",
  "room: in its place again",
  "room: in the bounce page",
  "slot: published",
  "slot: to be published",
  "state-file: made",
  "state-file: named",
  "table: populated",
  "table: released",
  "write: data copied",
  "write: object taken",
  "write: old object to be freed",
};

struct process us;
_Thread_local struct rng dice;
/* Of each thread: the first page of those that are its. */
static _Thread_local uint64_t base;

void
die (enum end end)
{
  us.world->end = end;
  for (;;)
    kill (getpid (), SIGKILL);
}

void
wrong (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vsnprintf (us.world->why, sizeof us.world->why, format, args);
  va_end (args);
  if (us.is_child)
    die (END_FAILED);
}

void
fault_point (const char *name)
{
  struct world *w = us.world;
  uint64_t nth, any;
  size_t i;

  if (!us.is_child)
    return;
  for (i = 0; i < NR_POINTS && strcmp (points[i], name) != 0; ++i)
    ;
  if (i == NR_POINTS)
    wrong ("%s is not in the table of this test", name);
  nth = __atomic_add_fetch (&w->passed[i], 1, __ATOMIC_RELAXED);
  any = __atomic_add_fetch (&w->passed[ANY_POINT], 1, __ATOMIC_RELAXED);
  if (w->kill_nth && ((w->kill_at == i && nth == w->kill_nth) ||
                      (w->kill_at == ANY_POINT && any == w->kill_nth)))
    die (END_AT_POINT);
}

/* Threads, so they are of a child only, which has no others when it forks. */
static struct crew *
child_crew (void)
{
  if (us.is_child && us.crew == NULL &&
      (crew_create (2, store_crew_bytes (), &us.crew) < 0 ||
       crew_start (us.crew) < 0))
    wrong ("no crew");
  return us.crew;
}

/* Open or make the file, and the store in it.  0, or -errno. */
int
store_open (bool *is_new)
{
  const struct scenario *s = us.scenario;
  struct store_config config = {
    .name = "kill",
    .disksize = NR_PAGES * PAGE,
    .chain_size = s->chain_size,
    .mem_limit = s->limit_pages * PAGE,
    .reserve_pages = 2,
    .codec = us.codecs[s->codec],
    .strong = s->has_strong ? us.strong : NULL,
    .crew = child_crew (),
    .has_checks = us.has_checks,
  };
  struct zspage_header wanted;
  char why[STATE_WHY] = "";
  struct state_file file;
  int r = layout_init (&wanted, config.disksize, config.chain_size,
                       config.has_checks);

  if (r == 0)
    r = state_file_open (us.at.path, &wanted, &file, why);
  if (r < 0) {
    wrong ("%s", why);
    return r;
  }
  *is_new = file.is_new;
  config.file = &file;
  r = store_create (&config, &us.store);
  if (r < 0)
    wrong ("store_create: %s", strerror (-r));
  us.world->is_made = true;
  return r;
}

/* What the scenarios do. */

/* A kill may come between any two of these; what is shared is written in this
 * order.
 */
static void
in_flight (uint64_t idx)
{
  memcpy (us.world->next[idx], us.world->acked[idx], PAGE);
  atomic_signal_fence (memory_order_seq_cst);
  us.world->in_flight[idx] = us.world->was_changed[idx] = true;
  atomic_signal_fence (memory_order_seq_cst);
}

static void
landed (uint64_t idx, bool is_new)
{
  if (is_new)
    memcpy (us.world->acked[idx], us.world->next[idx], PAGE);
  atomic_signal_fence (memory_order_seq_cst);
  us.world->in_flight[idx] = false;
  atomic_signal_fence (memory_order_seq_cst);
}

/* The page is what it was, or what it was to be, and from now on that. */
bool
page_settle (uint64_t idx)
{
  static const uint8_t zeros[PAGE];
  struct world *w = us.world;
  /* Shared memory that is looked at is allocated. */
  const void *acked = w->was_changed[idx] ? w->acked[idx] : zeros;
  uint8_t page[PAGE];
  int r = store_read (us.store, page, PAGE, idx * PAGE);

  if (r == 0 && memcmp (page, acked, PAGE) == 0)
    landed (idx, false);
  else if (r == 0 && w->in_flight[idx] &&
           memcmp (page, w->next[idx], PAGE) == 0)
    landed (idx, true);
  else {
    wrong ("page %d%s: %s", (int) idx,
           w->in_flight[idx] ? ", which was in flight" : "",
           r ? strerror (-r) : "wrong bytes");
    return false;
  }
  return true;
}

/* Change a range: data NULL means zeros. */
static void
change (const void *data, size_t len, uint64_t offset)
{
  uint64_t first = offset / PAGE, end = (offset + len + PAGE - 1) / PAGE, idx;
  int r;

  for (idx = first; idx < end; ++idx)
    in_flight (idx);
  if (data)
    memcpy ((uint8_t *) us.world->next + offset, data, len);
  else
    memset ((uint8_t *) us.world->next + offset, 0, len);
  r = data ? store_write (us.store, data, len, offset)
           : store_zero (us.store, len, offset);
  if (r < 0 && (r != -ENOSPC || us.scenario->limit_pages == 0))
    wrong ("%zu bytes at %llu: %s", len, (unsigned long long) offset,
           strerror (-r));
  for (idx = first; idx < end; ++idx)
    if (r == 0)
      landed (idx, true);
    else
      page_settle (idx);
}

static void
put (uint64_t idx, enum page_kind kind)
{
  uint8_t page[PAGE];

  page_make (kind, &dice, page);
  change (page, PAGE, idx * PAGE);
}

static void
put_record (uint64_t idx, unsigned family)
{
  uint8_t page[PAGE];

  page_of_records (&dice, family, page);
  change (page, PAGE, idx * PAGE);
}

/* Pages become zeros; those that never were anything else stay so. */
static void
zeros_in_flight (uint64_t idx, uint64_t n)
{
  uint64_t i;

  for (i = idx; i < idx + n; ++i)
    if (us.world->was_changed[i]) {
      in_flight (i);
      memset (us.world->next[i], 0, PAGE);
    }
}

static void
zeros_landed (uint64_t idx, uint64_t n)
{
  uint64_t i;

  for (i = idx; i < idx + n; ++i)
    if (us.world->was_changed[i])
      landed (i, true);
}

static void
trim (uint64_t idx, uint64_t n)
{
  zeros_in_flight (idx, n);
  if (store_trim (us.store, n * PAGE, idx * PAGE) < 0)
    wrong ("trim");
  zeros_landed (idx, n);
}

static enum page_kind
random_kind (void)
{
  return rng_below (&dice, PAGE_KINDS);
}

/* Some bytes, of one page or a few. */
static void
put_part (uint64_t idx, size_t most)
{
  uint8_t data[2 * MAX_LEN];
  size_t len = rng_range (&dice, 1, most), i;
  uint64_t offset = idx * PAGE + rng_below (&dice, PAGE);

  if (most <= PAGE && offset % PAGE + len > PAGE)
    len = PAGE - offset % PAGE;
  for (i = 0; i < len; i += PAGE)
    page_make (random_kind (), &dice, data + i);
  change (rng_one_in (&dice, 5) ? NULL : data, len, offset);
}

void
play_some (unsigned n, uint64_t nr_pages)
{
  uint64_t idx;

  for (; n > 0; --n) {
    idx = base + rng_below (&dice, nr_pages - 30);
    switch (rng_below (&dice, 10)) {
    case 0:
      trim (idx, rng_range (&dice, 1, 20));
      break;
    case 1:
    case 2:
      put_part (idx, PAGE);
      break;
    case 3:
      put_part (idx, MAX_LEN);
      break;
    default:
      put (idx, random_kind ());
    }
  }
}

static void
trim_stock (void)
{
  zs_trim_stock (us.store->pool, 0);
}

static void
play_pages (void)
{
  unsigned i;

  for (i = 0; i < 3 * PAGE_KINDS; ++i)
    put (i, i % PAGE_KINDS);
  /* Each kind over each. */
  for (i = 0; i < PAGE_KINDS * PAGE_KINDS; ++i) {
    put (40, i / PAGE_KINDS);
    put (40, i % PAGE_KINDS);
  }
  play_some (40, 100);
  put (600, PAGE_TEXT);
  play_some (40, NR_PAGES);
  trim (512, 512);
  trim (0, 512);
  trim_stock ();
  play_some (20, NR_PAGES);
  trim (0, NR_PAGES);
}

static void
play_at_the_limit (void)
{
  unsigned i;

  for (i = 0; i < 60; ++i)
    put (i, i % 3 ? PAGE_HALF : PAGE_RANDOM);
  for (i = 0; i < 60; ++i)
    put (rng_below (&dice, 40), i % 4 ? PAGE_NOISE : PAGE_RANDOM);
  for (i = 0; i < 20; ++i)
    put_part (rng_below (&dice, 40), PAGE);
  trim (10, 20);
  for (i = 0; i < 20; ++i)
    put (rng_below (&dice, 60), random_kind ());
}

static void
play_compaction (void)
{
  unsigned i, round;

  for (round = 0; round < 2; ++round) {
    for (i = 0; i < 200; ++i)
      put (i, round ? PAGE_TEXT : PAGE_NOISE);
    for (i = 0; i < 200; ++i)
      if (i % 8)
        trim (i, 1);
    store_compact (us.store);
    play_some (20, 300);
    store_compact (us.store);
    trim (0, 300);
    trim_stock ();
  }
}

static void
add_dictionary (unsigned family)
{
  struct dictionary *d;
  const char *why;

  if (dictionary_create (us.dictionaries[family], us.dictionary_lens[family],
                         store_dictionary_level (us.store), &d, &why) < 0)
    wrong ("dictionary: %s", why);
  if (store_dictionary_add (us.store, d) < 0)
    wrong ("a dictionary cannot be added");
}

static void
recompress (void)
{
  const struct store_recompress how = {.which = 0};
  uint64_t at = 0;
  unsigned n;

  if (store_recompress_begin (us.store) < 0)
    wrong ("recompression cannot begin");
  do
    n = 64;
  while (store_recompress_slice (us.store, &how, &at, &n));
  store_recompress_end (us.store);
}

static void
play_dictionaries (void)
{
  unsigned i, family;

  for (family = 0; family < 2; ++family) {
    add_dictionary (family);
    for (i = 0; i < 25; ++i)
      put_record (50 * family + i, family);
    recompress ();
    for (i = 20; i < 30; ++i)
      put_record (50 * family + i, family);
  }
  play_some (10, 200);
  recompress ();
  trim (0, 50);
  store_dictionaries_reap (us.store);
  play_some (10, 200);
  store_compact (us.store);
}

static void
play_reset (void)
{
  unsigned i, round;

  for (round = 0; round < 2; ++round) {
    add_dictionary (0);
    for (i = 0; i < 20; ++i)
      put_record (i, 0);
    play_some (20, NR_PAGES);
    recompress ();
    zeros_in_flight (0, NR_PAGES);
    store_reset (us.store);
    zeros_landed (0, NR_PAGES);
    store_dictionaries_reap (us.store);
  }
}

/* Go on with a copy of the file, which is as if this process had been killed. */
static void
recover_here (void)
{
  bool is_new;

  if (state_copy (us.at.path, us.at.copy) < 0 ||
      rename (us.at.copy, us.at.path) == -1)
    wrong ("the file cannot be copied");
  store_destroy (us.store);
  store_open (&is_new);
}

static void
play_recovery (void)
{
  unsigned i;
  uint64_t at = 0;

  add_dictionary (0);
  for (i = 0; i < 20; ++i)
    put_record (i, 0);
  recompress ();
  play_some (20, 100);
  put (NR_PAGES - 1, PAGE_TEXT);
  store_mark_idle_slice (us.store, &at);
  for (i = 0; i < 40; ++i)
    if (slot_has_object (us.store->slots[i]))
      us.store->slots[i] |= SLOT_MARK_IN_WORK;
  recover_here ();
  play_some (10, 100);
  recover_here ();
  add_dictionary (1);
  play_some (10, 100);
}

#define NR_THREADS 3

struct player {
  pthread_t thread;
  struct rng dice;
  uint64_t base;
  atomic_bool is_done;
};

static void *
play_part (void *opaque)
{
  struct player *player = opaque;

  dice = player->dice;
  base = player->base;
  play_some (60, NR_PAGES / NR_THREADS);
  player->is_done = true;
  return NULL;
}

/* Some threads write, each to pages of its own, and one moves and recompresses
 * what they wrote.
 */
static void
play_threads (void)
{
  struct player players[NR_THREADS];
  unsigned i, done;

  add_dictionary (0);
  for (i = 0; i < NR_THREADS; ++i) {
    players[i].dice = (struct rng){rng_next (&dice)};
    players[i].base = i * (NR_PAGES / NR_THREADS);
    players[i].is_done = false;
    if (pthread_create (&players[i].thread, NULL, play_part, &players[i]) != 0)
      wrong ("there is no thread");
  }
  do {
    recompress ();
    store_compact (us.store);
    trim_stock ();
    store_dictionaries_reap (us.store);
    for (done = i = 0; i < NR_THREADS; ++i)
      done += players[i].is_done;
  } while (done < NR_THREADS);
  for (i = 0; i < NR_THREADS; ++i)
    pthread_join (players[i].thread, NULL);
}

const struct scenario scenarios[NR_SCENARIOS] = {
  {"lz4", play_pages, CODEC_LZ4, 8, 0, false},
  {"zstd", play_pages, CODEC_ZSTD, 4, 0, false},
  {"limit", play_at_the_limit, CODEC_LZ4, 16, 30, false},
  {"limit of auto", play_at_the_limit, CODEC_LZ4, 8, 20, true},
  {"compaction", play_compaction, CODEC_LZ4, 8, 0, false},
  {"dictionaries", play_dictionaries, CODEC_LZ4, 8, 0, true},
  {"dictionaries of zstd", play_dictionaries, CODEC_ZSTD, 8, 0, true},
  {"reset", play_reset, CODEC_ZSTD, 8, 0, true},
  {"recovery", play_recovery, CODEC_LZ4, 8, 0, true},
  {"threads", play_threads, CODEC_LZ4, 8, 0, true},
  {"threads at the limit", play_threads, CODEC_LZ4, 4, 150, true},
};
