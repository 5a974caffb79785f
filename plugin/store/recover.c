/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery; see recover.h.
 *
 * Threads take parts of the slot table, a run of its pages each, until none is
 * left: once to claim each word's object, and, if some object was claimed twice,
 * once more to find out whose it is.  The table says it all, so data are not
 * touched, which would cost more than all else; an object's owner and checksum
 * are looked at whenever it is read.
 */
#include "recover.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"
#include "fault-point.h"
#include "saved-dictionaries.h"
#include "zspool-recover.h"

/* Pages of the table that a thread takes at once: 64 MiB of the device. */
#define PART_PAGES  32u
#define MAX_THREADS 16u
/* How often progress is told. */
#define PROGRESS_NS UINT64_C (1000000000)

struct scan {
  struct store *store;
  struct zs_recovery *recovery;
  /* What is done with each slot. */
  void (*slot) (struct scan *scan, struct stripe *stripe, uint64_t idx);
  _Atomic uint64_t next; /* page of the table */
  _Atomic uint64_t lost;
  _Atomic uint64_t done; /* pages of the table */
  _Atomic uint64_t told_ns;
  void (*progress) (void *opaque, uint64_t done, uint64_t all);
  void *opaque;
};

static uint64_t
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * UINT64_C (1000000000) + t.tv_nsec;
}

/* Whether a word can be what this program made, but for its object. */
static bool
word_is_possible (const struct store *store, uint64_t word)
{
  unsigned generation = slot_generation (word);

  switch (slot_kind (word)) {
  case SLOT_EMPTY:
    return word == 0;
  case SLOT_FILL:
  case SLOT_LOST:
    return true;
  case SLOT_FILL32:
    return slot_fill_value (word) != 0;
  case SLOT_FILL_OBJ:
    return generation == 0 && slot_len (word) == sizeof (uint64_t);
  case SLOT_RAW:
    return generation == 0;
  case SLOT_LZ4:
    return generation == 0 && slot_len (word) > 0;
  case SLOT_ZSTD:
    return slot_len (word) > 0 &&
           (generation == 0 || dictionary_of (store, generation) != NULL);
  }
  return false;
}

/* What a slot that has this word is to have. */
static uint64_t
slot_judge_locked (struct scan *scan, uint64_t idx, uint64_t word)
{
  struct store *store = scan->store;

  if (idx >= store->nr_pages)
    return 0;
  if (!word_is_possible (store, word))
    return SLOT_LOST;
  if (slot_has_object (word) &&
      !zs_recover_is_possible (scan->recovery, slot_ref (word),
                               slot_len (word)))
    return SLOT_LOST;
  if (checks_are_kept (store) && !checks_recover_locked (store, idx, word))
    return SLOT_LOST;
  if (slot_has_object (word))
    zs_recover_claim (scan->recovery, slot_ref (word), slot_len (word), idx);
  /* Nobody knows when a page was marked idle. */
  return word == 0 ? 0 : word & ~(SLOT_MARK_IN_WORK | SLOT_MARK_IDLE);
}

static void
slot_claim_locked (struct scan *scan, struct stripe *stripe, uint64_t idx)
{
  struct store *store = scan->store;
  uint64_t word = slot_get_locked (store, idx);
  uint64_t judged = slot_judge_locked (scan, idx, word);

  if (judged != word)
    slot_repoint_locked (store, idx, judged);
  if (judged == SLOT_LOST && word != SLOT_LOST) {
    if (checks_are_kept (store))
      checks_forget_locked (store, idx);
    scan->lost++;
  }
  FAULT_POINT ("recover: slot");
  if (idx < store->nr_pages)
    slot_adopt_locked (stripe, judged);
}

/* Once more, as some object was claimed twice. */
static void
slot_claim_again_locked (struct scan *scan, struct stripe *stripe, uint64_t idx)
{
  struct store *store = scan->store;
  uint64_t word = slot_get_locked (store, idx);

  if (slot_has_object (word) &&
      zs_recover_claim_again (scan->recovery, slot_ref (word), slot_len (word),
                              idx) < 0) {
    slot_give_up_locked (store, stripe, idx);
    scan->lost++;
  }
}

static void
table_page_scan (struct scan *scan, uint64_t t)
{
  struct stripe *group = group_of (scan->store, t);
  uint64_t i;

  group_lock (group);
  for (i = 0; i < SLOTS_PER_TABLE_PAGE; ++i)
    scan->slot (scan, &group[i % STRIPES_PER_GROUP],
                t * SLOTS_PER_TABLE_PAGE + i);
  group_unlock (group);
}

/* One of the threads may say how far all have come. */
static void
progress_tell (struct scan *scan, uint64_t pages)
{
  uint64_t done = atomic_fetch_add (&scan->done, pages) + pages;
  uint64_t told = scan->told_ns, now = now_ns ();

  if (scan->progress && now - told >= PROGRESS_NS &&
      atomic_compare_exchange_strong (&scan->told_ns, &told, now))
    scan->progress (scan->opaque, done, scan->store->nr_table_pages);
}

static void *
scan_parts (void *opaque)
{
  struct scan *scan = opaque;
  struct store *store = scan->store;
  uint64_t t, first, end;

  for (;;) {
    first = atomic_fetch_add (&scan->next, PART_PAGES);
    if (first >= store->nr_table_pages)
      return NULL;
    end = first + PART_PAGES;
    if (end > store->nr_table_pages)
      end = store->nr_table_pages;
    for (t = table_next_present (store, first, end); t < end;
         t = table_next_present (store, t + 1, end))
      table_page_scan (scan, t);
    progress_tell (scan, end - first);
  }
}

static void
scan_all (struct scan *scan,
          void (*slot) (struct scan *scan, struct stripe *stripe, uint64_t idx))
{
  pthread_t threads[MAX_THREADS - 1];
  long processors = sysconf (_SC_NPROCESSORS_ONLN);
  uint64_t parts = scan->store->nr_present / PART_PAGES;
  unsigned n = 0, i;

  scan->slot = slot;
  scan->next = scan->done = 0;
  /* This one is one of them. */
  while (n + 1 < processors && n < MAX_THREADS - 1 && n < parts &&
         pthread_create (&threads[n], NULL, scan_parts, scan) == 0)
    n++;
  scan_parts (scan);
  for (i = 0; i < n; ++i)
    pthread_join (threads[i], NULL);
}

/* Which pages of the table there are. */
static int
table_look (struct store *store)
{
  const uint8_t *table = (const uint8_t *) store->slots, *from = table;
  const uint8_t *end = table + store->nr_table_pages * ZSPAGE_PAGE_SIZE;
  void *start;
  size_t len;
  int r;

  while (arena_next_memory (&store->arena, from, end, &start, &len)) {
    uint64_t t = ((const uint8_t *) start - table) / ZSPAGE_PAGE_SIZE;
    uint64_t last = t + len / ZSPAGE_PAGE_SIZE;

    arena_map (&store->arena, start, len);
    for (; t < last; ++t) {
      r = table_adopt_locked (store, t);
      if (r < 0)
        return r;
    }
    from = (const uint8_t *) start + len;
  }
  return 0;
}

static bool
page_is_zero (const uint8_t *page)
{
  return page[0] == 0 && memcmp (page, page + 1, ZSPAGE_PAGE_SIZE - 1) == 0;
}

/* Checks that say something, of a page of the table that has no memory: the file
 * lost that page.  Once it has memory, its slots are found to be wrong.
 */
static int
checks_look (struct store *store)
{
  const uint8_t *checks = (const uint8_t *) store->checks, *from = checks, *p;
  const void *end;
  void *start;
  size_t len;
  int r = 0;

  if (!checks_are_kept (store))
    return 0;
  end = store->checks + store->nr_pages;
  while (r == 0 && arena_next_memory (&store->arena, from, end, &start, &len)) {
    from = (const uint8_t *) start + len;
    for (p = start; r == 0 && p < from; p += ZSPAGE_PAGE_SIZE) {
      uint64_t t = (p - checks) / ZSPAGE_PAGE_SIZE / CHECK_PAGES;

      if (!table_is_present (store, t) && !page_is_zero (p))
        r = table_populate_locked (store, t);
    }
  }
  return r;
}

/* Other checks without slots: what a kill left while their memory was being
 * taken or given back.
 */
static void
checks_tidy (struct store *store)
{
  uint64_t t = 0, first;

  while (checks_are_kept (store) && t < store->nr_table_pages) {
    if (table_is_present (store, t)) {
      t++;
      continue;
    }
    first = t;
    t = table_next_present (store, t, store->nr_table_pages);
    checks_release_run (store, first, t);
  }
}

static int
scan_and_end (struct scan *scan, uint64_t *nr_freed)
{
  size_t freed;
  int r;

  scan_all (scan, slot_claim_locked);
  if (zs_recover_again (scan->recovery))
    scan_all (scan, slot_claim_again_locked);
  r = zs_recover_end (scan->recovery, &freed);
  *nr_freed = freed;
  return r;
}

int
store_recover (struct store *store, const struct store_config *config)
{
  const struct zspage_header *was = &config->file->header;
  struct store_recovered *is = &store->recovered;
  struct scan scan = {
    .store = store,
    .told_ns = now_ns (),
    .progress = config->progress,
    .opaque = config->progress_opaque,
  };
  uint64_t began = now_ns (), freed = 0;
  struct store_stats s;
  int r;

  is->was_closed = was->was_closed == 1;
  is->pid = was->pid;
  /* Where it is not known which pages have memory, all would seem lost. */
  if (!arena_has_memory (&store->arena, store->arena.base, ZSPAGE_PAGE_SIZE))
    return -EOPNOTSUPP;
  /* What has memory already is not to be refused for the lack of it. */
  store->arena.headroom = NULL;
  r = saved_dictionaries_load (store);
  if (r == 0)
    r = table_look (store);
  if (r == 0)
    r = checks_look (store);
  if (r == 0)
    r = zs_recover_begin (store->pool, &scan.recovery);
  if (r == 0)
    r = scan_and_end (&scan, &freed);
  store->arena.headroom = config->headroom;
  if (r < 0)
    return r;
  checks_tidy (store);
  store_dictionaries_reap (store);
  store_stats (store, &s);
  is->pages = s.orig_data_size / ZSPAGE_PAGE_SIZE - s.lost_pages;
  is->lost = scan.lost;
  is->freed_pages = freed;
  is->ms = (now_ns () - began) / 1000000;
  return 0;
}
