/* SPDX-License-Identifier: BSD-3-Clause */
/* kill-client SEED PAGES: use two devices of that many pages, which servers serve
 * that are killed and started again, and see that what was acknowledged is kept.
 *
 * Each line of standard input is an order, and answered when it is carried out:
 *
 *   load URI URI PID MS US verify all pages, say `loading', write, trim, zero and
 *                          read for so long, with pauses up to so long, kill
 *                          the server, say `killed'
 *   verify URI URI         verify all pages, say `verified'
 *
 * There are as many threads as connections to each device, and each page is
 * written by one of them, so that there is one request at most that may or may
 * not have changed it when the server is killed: then a page is what it was
 * before, or what it was to become, of the size in which the server stores pages.
 * What has been seen of it once must stay.
 *
 * What a page holds follows from its number and its version.  Many are alike in
 * the way that pages of programs are, so that a dictionary is of use.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "client.h"

#define NR_DEVICES 2u
#define NR_THREADS 4u

/* The most pages of a request; and of a trim, in the half of a device where each
 * thread owns one run of pages.  In the other half they take turns.
 */
#define MAX_RUN  32u
#define MAX_TRIM 1500u

/* Pages of a request that verifies. */
#define VERIFY_RUN 64u

/* What is written to a part of a page begins and ends at a multiple of this. */
#define PIECE 256u

/* What pages have in common changes after so many versions, and with it which
 * dictionary is best.
 */
#define NR_SETS        8u
#define SET_VERSIONS   100000u
#define NR_TEMPLATES   64u
#define TEMPLATE_WORDS 16u

/* What a page holds.  Versions are unique; that of zeros is 0. */
struct content {
  uint32_t version;
  uint32_t part; /* version of what is written over a part of it; 0: nothing */
};

struct page {
  struct content is;
  struct content may_be; /* if it is asked for; otherwise as .is */
};

struct thread {
  pthread_t id;
  unsigned nr;
  uint64_t rng;
  struct nbd_handle *nbd[NR_DEVICES];
  uint8_t *buf, *want;
};

static struct page *pages[NR_DEVICES];
static uint32_t nr_pages;
static uint64_t templates[NR_SETS][NR_TEMPLATES][TEMPLATE_WORDS];
static struct thread threads[NR_THREADS];

static _Atomic uint32_t last_version;
static atomic_bool is_killed;
static uint64_t pause_us;

/* What was done, for the figures. */
static _Atomic uint64_t nr_requests, nr_no_room, nr_verified, nr_old, nr_new;

/* --- What pages hold. */

static void
templates_make (void)
{
  uint64_t rng = 1;
  unsigned set, i, j;

  for (set = 0; set < NR_SETS; ++set)
    for (i = 0; i < NR_TEMPLATES; ++i)
      for (j = 0; j < TEMPLATE_WORDS; ++j)
        templates[set][i][j] = rng_next (&rng);
}

/* Of each sort of pages that stores tell apart some. */
static void
whole_make (unsigned device, uint32_t idx, uint32_t version, uint64_t *words)
{
  const unsigned nr_words = PAGE / sizeof *words;
  uint64_t rng = (uint64_t) version << 33 ^ (uint64_t) idx << 1 ^ device;
  unsigned set = version / SET_VERSIONS % NR_SETS;
  unsigned kind = version ? rng_below (&rng, 16) : 0, i;
  uint64_t first = rng_next (&rng);

  switch (kind) {
  case 0: /* zeros, and the same all over */
    first = 0;
    break;
  case 1:
    first &= 0xff;
    first *= UINT64_C (0x0101010101010101);
    break;
  case 2:
  case 3: /* does not compress */
    for (i = 0; i < nr_words; ++i)
      words[i] = rng_next (&rng);
    return;
  case 4:
  case 5:
  case 6:
  case 7: /* records, each with a few words of its own */
    for (i = 0; i < nr_words; ++i)
      words[i] = i % 8 < 2 ? rng_next (&rng) & 0xffffff : i % 8 * kind;
    words[0] = first;
    return;
  case 8: /* the same but for a little */
    memset (words, 0, PAGE);
    words[first % nr_words] = first;
    return;
  default: /* things that other pages have too */
    for (i = 0; i < nr_words; i += TEMPLATE_WORDS) {
      memcpy (&words[i], templates[set][rng_below (&rng, NR_TEMPLATES)],
              sizeof templates[0][0]);
      words[i + rng_below (&rng, TEMPLATE_WORDS)] = rng_next (&rng);
    }
    return;
  }
  for (i = 0; i < nr_words; ++i)
    words[i] = first;
}

/* The part of a page that a version of a part is of, and what is there. */
static void
part_make (uint32_t version, uint8_t *page, size_t *within, size_t *len)
{
  uint64_t rng = version;
  size_t nr = PAGE / PIECE, first = rng_below (&rng, nr);
  uint64_t word;
  size_t i;

  *within = first * PIECE;
  *len = (1 + rng_below (&rng, nr - first)) * PIECE;
  if (*len == PAGE)
    *len -= PIECE;
  for (i = 0; page && i < *len; i += sizeof word) {
    word = rng_next (&rng) & UINT64_C (0xffff00000000ffff);
    memcpy (page + *within + i, &word, sizeof word);
  }
}

static void
page_make (unsigned device, uint32_t idx, struct content content, uint8_t *page)
{
  size_t within, len;

  whole_make (device, idx, content.version, (uint64_t *) page);
  if (content.part)
    part_make (content.part, page, &within, &len);
}

static bool
is_same (struct content a, struct content b)
{
  return a.version == b.version && a.part == b.part;
}

static bool
page_is (struct thread *t, unsigned device, uint32_t idx,
         struct content content, const uint8_t *got)
{
  page_make (device, idx, content, t->want);
  return memcmp (got, t->want, PAGE) == 0;
}

/* Say what is there instead, if that can be told. */
static void __attribute__ ((noreturn))
complain (struct thread *t, unsigned device, uint32_t idx, const uint8_t *got,
          const char *when)
{
  const struct page *page = &pages[device][idx];
  struct content old = {0, 0};
  char what[80] = "nothing that it ever was";
  unsigned i, bad = 0, first = PAGE;

  page_make (device, idx, page->is, t->want);
  for (i = PAGE; i-- > 0;)
    if (got[i] != t->want[i]) {
      bad++;
      first = i;
    }
  for (old.version = 0; old.version <= last_version; ++old.version)
    if (page_is (t, device, idx, old, got)) {
      snprintf (what, sizeof what, "its version %" PRIu32, old.version);
      break;
    }
  DIE ("%s: device %u: page %" PRIu32 " is wrong in %u bytes, from byte %u on: "
       "it should be version %" PRIu32 ".%" PRIu32 " or %" PRIu32 ".%" PRIu32
       ", and is %s",
       when, device, idx, bad, first, page->is.version, page->is.part,
       page->may_be.version, page->may_be.part, what);
}

/* --- Requests. */

/* Whether a request was answered.  If not, the server was killed, or this ends
 * the program; *no_room: the answer is ENOSPC.
 */
static bool
is_answered (struct nbd_handle *nbd, int result, bool *no_room)
{
  *no_room = false;
  if (result == 0) {
    nr_requests++;
    return true;
  }
  if (is_killed)
    return false;
  if (nbd_get_errno () != ENOSPC || nbd_aio_is_dead (nbd) == 1 ||
      nbd_aio_is_closed (nbd) == 1)
    DIE ("a request failed: %s", nbd_get_error ());
  nr_requests++;
  nr_no_room++;
  *no_room = true;
  return true;
}

/* Read pages and see that each is what it may be, and that is what it is from
 * now on.  False if the server is gone.
 */
static bool
verify (struct thread *t, unsigned device, uint32_t first, uint32_t nr,
        const char *when)
{
  struct page *page = &pages[device][first];
  const uint8_t *got = t->buf;
  bool no_room;
  uint32_t i;

  if (!is_answered (t->nbd[device],
                    nbd_pread (t->nbd[device], t->buf, (size_t) nr * PAGE,
                               (uint64_t) first * PAGE, 0),
                    &no_room))
    return false;
  if (no_room)
    DIE ("reading: there is no room");
  for (i = 0; i < nr; ++i, ++page, got += PAGE) {
    bool is_new = !is_same (page->is, page->may_be);

    if (is_new && page_is (t, device, first + i, page->may_be, got)) {
      nr_new++;
      page->is = page->may_be;
    }
    else if (page_is (t, device, first + i, page->is, got)) {
      nr_old += is_new;
      page->may_be = page->is;
    }
    else
      complain (t, device, first + i, got, when);
  }
  nr_verified += nr;
  return true;
}

/* What became of a request that was to make these pages what they may be. */
static bool
settle (struct thread *t, unsigned device, uint32_t first, uint32_t nr,
        int result)
{
  bool no_room;
  uint32_t i;

  if (!is_answered (t->nbd[device], result, &no_room))
    return false;
  for (i = 0; !no_room && i < nr; ++i)
    pages[device][first + i].is = pages[device][first + i].may_be;
  /* What there was no room for may be done in part. */
  for (i = 0; no_room && i < nr; i += VERIFY_RUN)
    if (!verify (t, device, first + i,
                 nr - i < VERIFY_RUN ? nr - i : VERIFY_RUN, "no room"))
      return false;
  return true;
}

static bool
do_write (struct thread *t, unsigned device, uint32_t first, uint32_t nr)
{
  uint32_t i;

  for (i = 0; i < nr; ++i) {
    struct page *page = &pages[device][first + i];

    page->may_be = (struct content){++last_version, 0};
    page_make (device, first + i, page->may_be, t->buf + (size_t) i * PAGE);
  }
  return settle (t, device, first, nr,
                 nbd_pwrite (t->nbd[device], t->buf, (size_t) nr * PAGE,
                             (uint64_t) first * PAGE, 0));
}

static bool
do_write_part (struct thread *t, unsigned device, uint32_t idx)
{
  struct page *page = &pages[device][idx];
  size_t within, len;

  /* No part of a part: one is written again, as a whole. */
  if (page->is.part)
    return do_write (t, device, idx, 1);
  page->may_be.part = ++last_version;
  part_make (page->may_be.part, t->buf, &within, &len);
  return settle (t, device, idx, 1,
                 nbd_pwrite (t->nbd[device], t->buf + within, len,
                             (uint64_t) idx * PAGE + within, 0));
}

static bool
do_zero (struct thread *t, unsigned device, uint32_t first, uint32_t nr)
{
  unsigned how = rng_below (&t->rng, 3);
  uint64_t offset = (uint64_t) first * PAGE, len = (uint64_t) nr * PAGE;
  uint32_t i;
  int r;

  for (i = 0; i < nr; ++i)
    pages[device][first + i].may_be = (struct content){0, 0};
  if (how == 0)
    r = nbd_trim (t->nbd[device], len, offset, 0);
  else
    r = nbd_zero (t->nbd[device], len, offset,
                  how == 1 ? LIBNBD_CMD_FLAG_NO_HOLE : 0);
  return settle (t, device, first, nr, r);
}

/* --- What a thread does. */

static void
pause_for (uint64_t us)
{
  struct timespec pause = {us / 1000000, us % 1000000 * 1000};

  nanosleep (&pause, NULL);
}

/* A run of pages that this thread owns, of max at most. */
static void
choose (struct thread *t, uint32_t max, uint32_t *first, uint32_t *nr)
{
  uint32_t half = nr_pages / 2, quarter = half / NR_THREADS, at;

  if (max <= MAX_RUN && rng_below (&t->rng, 2)) {
    at = rng_below (&t->rng, quarter / MAX_RUN) * NR_THREADS + t->nr;
    *first = half + at * MAX_RUN;
    at = rng_below (&t->rng, MAX_RUN);
    *nr = MAX_RUN - at;
    *first += at;
  }
  else {
    at = rng_below (&t->rng, quarter);
    *first = t->nr * quarter + at;
    *nr = quarter - at;
  }
  if (*nr > max)
    *nr = max;
  *nr = 1 + rng_below (&t->rng, *nr);
}

static void *
load (void *opaque)
{
  struct thread *t = opaque;
  bool goes_on = true;
  uint32_t first, nr;

  while (goes_on) {
    unsigned device = rng_below (&t->rng, NR_DEVICES);
    unsigned what = rng_below (&t->rng, 128);

    choose (t, what == 0 ? MAX_TRIM : MAX_RUN, &first, &nr);
    if (what < 16)
      goes_on = do_zero (t, device, first, nr);
    else if (what < 32)
      goes_on = do_write_part (t, device, first);
    else if (what < 56)
      goes_on = verify (t, device, first, nr, "under load");
    else
      goes_on = do_write (t, device, first, nr);
    if (pause_us)
      pause_for (rng_below (&t->rng, pause_us));
  }
  return NULL;
}

/* Verify a quarter of all. */
static void *
verify_all (void *opaque)
{
  struct thread *t = opaque;
  uint32_t at;
  unsigned device;

  for (device = 0; device < NR_DEVICES; ++device)
    for (at = t->nr * VERIFY_RUN; at < nr_pages; at += NR_THREADS * VERIFY_RUN)
      if (!verify (t, device, at, VERIFY_RUN, "after the start"))
        DIE ("the server is gone");
  return NULL;
}

/* --- All threads. */

static void
start (void *(*fn) (void *opaque))
{
  unsigned i;

  for (i = 0; i < NR_THREADS; ++i)
    if (pthread_create (&threads[i].id, NULL, fn, &threads[i]) != 0)
      DIE ("there is no thread to be had");
}

static void
join (void)
{
  unsigned i;

  for (i = 0; i < NR_THREADS; ++i)
    pthread_join (threads[i].id, NULL);
}

static void
connect_all (char *uris[NR_DEVICES])
{
  unsigned i, device;

  is_killed = false;
  for (i = 0; i < NR_THREADS; ++i)
    for (device = 0; device < NR_DEVICES; ++device)
      threads[i].nbd[device] = client_connect (uris[device]);
}

static void
close_all (void)
{
  unsigned i, device;

  for (i = 0; i < NR_THREADS; ++i)
    for (device = 0; device < NR_DEVICES; ++device)
      nbd_close (threads[i].nbd[device]);
}

static void
say (const char *what)
{
  puts (what);
  fflush (stdout);
}

static void
carry_out (char *order)
{
  char *words[6], *rest = order;
  unsigned n = 0;

  while (n < 6 && (words[n] = strtok_r (rest, " \n", &rest)) != NULL)
    n++;
  if (n != 6 && n != 3)
    DIE ("'%s': no such order", order);
  connect_all (&words[1]);
  start (verify_all);
  join ();
  if (n == 6) {
    say ("loading");
    pause_us = parse_number (words[5]);
    start (load);
    pause_for (parse_number (words[4]) * 1000);
    is_killed = true;
    if (kill ((pid_t) parse_number (words[3]), SIGKILL) == -1)
      DIE ("the server cannot be killed");
    join ();
  }
  close_all ();
  say (n == 6 ? "killed" : "verified");
}

int
main (int argc, char *argv[])
{
  char line[4096];
  unsigned i;

  if (argc != 3)
    DIE ("usage: kill-client SEED PAGES");
  nr_pages = parse_number (argv[2]);
  if (nr_pages == 0 || nr_pages % (2 * NR_THREADS * MAX_RUN))
    DIE ("%s pages cannot be shared among the threads", argv[2]);
  templates_make ();
  for (i = 0; i < NR_DEVICES; ++i)
    pages[i] = xcalloc (nr_pages * sizeof *pages[i]);
  for (i = 0; i < NR_THREADS; ++i) {
    threads[i].nr = i;
    threads[i].rng = parse_number (argv[1]) * NR_THREADS + i;
    threads[i].buf = xmalloc (VERIFY_RUN * PAGE);
    threads[i].want = xmalloc (PAGE);
  }
  while (fgets (line, sizeof line, stdin))
    carry_out (line);
  printf ("%" PRIu64 " requests, %" PRIu64 " of them without room; %" PRIu64
          " pages verified; of those under way at a kill, %" PRIu64
          " old and %" PRIu64 " new\n",
          nr_requests, nr_no_room, nr_verified, nr_old, nr_new);
  return 0;
}
