/* SPDX-License-Identifier: BSD-3-Clause */
/* State files with damage: each is either refused and left alone, or recovered,
 * and then no page reads as what it never was.
 *
 *   - With checks a page reads as it was or not at all, unless both its slot
 *     and its check were hit.
 *   - Without, this is true of pages of which no part was hit: the slot, the
 *     object, the record of its chunk, the dictionary.
 *
 * After that all pages can be written again.  ZSPAGE_MUTANTS sets how many files
 * there are, ZSPAGE_SEED which; ZSPAGE_MUTANT does that one alone.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dictionary-pages.h"
#include "state-fixture.h"
#include "store-internal.h"
#include "zspool-internal.h"

/* The second page of the table is not full. */
#define NR_PAGES (512 + 88)
#define MAX_HITS 64

/* What was changed: [from, end) of the file. */
struct hit {
  uint64_t from, end;
};

struct original {
  struct state_fixture s;
  struct zspage_header header;
  uint64_t words[NR_PAGES];
  uint8_t pages[NR_PAGES][PAGE];
};

struct mutant {
  const struct original *of;
  struct rng rng;
  int fd;
  unsigned nr_hits;
  struct hit hits[MAX_HITS];
};

/* Pages of all kinds, of two generations, and holes. */
static void
original_make (struct original *o, bool has_checks)
{
  const struct store_params params = {
    .nr_pages = NR_PAGES, .codec = CODEC_LZ4, .has_checks = has_checks};
  struct store_recompress how = {.which = 0};
  struct rng rng = rng_make (has_checks);
  struct store *store;
  uint64_t idx, at;
  unsigned family, n;

  memset (o, 0, sizeof *o);
  state_fixture_init (&o->s, params, true);
  store = o->s.f.store;
  for (family = 0; family < 2; ++family) {
    assert_int_equal (
      store_dictionary_add (
        store, dictionary_of_records (family, store_dictionary_level (store))),
      0);
    for (idx = family * 300; idx < family * 300 + 100; ++idx) {
      page_of_records (&rng, family, o->pages[idx]);
      put_page (store, idx, o->pages[idx]);
    }
    at = 0;
    n = 2 * NR_PAGES;
    assert_int_equal (store_recompress_begin (store), 0);
    while (store_recompress_slice (store, &how, &at, &n))
      ;
    store_recompress_end (store);
  }
  for (idx = 0; idx < NR_PAGES; ++idx) {
    if (idx % 300 < 100 || idx % 50 >= 45)
      continue;
    page_make (idx % PAGE_KINDS, &rng, o->pages[idx]);
    put_page (store, idx, o->pages[idx]);
  }
  state_fixture_kill (&o->s);
  o->header = state_header (o->s.at.path);
  for (idx = 0; idx < NR_PAGES; ++idx)
    o->words[idx] = state_word (o->s.at.path, idx);
}

static void
hit (struct mutant *m, uint64_t at, const void *bytes, size_t len)
{
  assert_true (m->nr_hits < MAX_HITS);
  m->hits[m->nr_hits++] = (struct hit){at, at + len};
  assert_int_equal (pwrite (m->fd, bytes, len, at), len);
}

/* Somewhere in the part of the file from one offset to the other that has
 * memory, or anywhere in it if nothing has.
 */
static uint64_t
somewhere (struct mutant *m, uint64_t from, uint64_t end)
{
  off_t data, hole;
  uint64_t bytes = 0, at, pick;

  for (at = from; at < end; at = hole) {
    data = lseek (m->fd, at, SEEK_DATA);
    if (data == -1 || data >= (off_t) end)
      break;
    hole = lseek (m->fd, data, SEEK_HOLE);
    if (hole > (off_t) end)
      hole = end;
    bytes += hole - data;
  }
  if (bytes == 0)
    return from + rng_below (&m->rng, end - from);
  pick = rng_below (&m->rng, bytes);
  for (at = from;; at = hole) {
    data = lseek (m->fd, at, SEEK_DATA);
    hole = lseek (m->fd, data, SEEK_HOLE);
    if (pick < (uint64_t) (hole - data))
      return data + pick;
    pick -= hole - data;
  }
}

static void
flip (struct mutant *m, uint64_t from, uint64_t end)
{
  uint64_t at = somewhere (m, from, end);
  uint8_t byte = 0;

  assert_true (pread (m->fd, &byte, 1, at) >= 0);
  byte ^= rng_one_in (&m->rng, 2) ? UINT64_C (1) << rng_below (&m->rng, 8)
                                  : rng_below (&m->rng, 256);
  hit (m, at, &byte, 1);
}

static uint64_t
word_offset (const struct original *o, uint64_t idx)
{
  return o->header.table_offset + idx * sizeof (uint64_t);
}

/* One slot gets what another has, or its reference alone. */
static void
confuse_slots (struct mutant *m)
{
  uint64_t a = rng_below (&m->rng, NR_PAGES), b = rng_below (&m->rng, NR_PAGES);
  uint64_t word = m->of->words[b];

  if (rng_one_in (&m->rng, 2))
    word = slot_with_ref (m->of->words[a], slot_ref (word));
  hit (m, word_offset (m->of, a), &word, sizeof word);
}

/* The check of one slot goes to another. */
static void
confuse_checks (struct mutant *m)
{
  const struct zspage_header *h = &m->of->header;
  uint64_t a = rng_below (&m->rng, NR_PAGES), b = rng_below (&m->rng, NR_PAGES);
  struct zspage_check check = {0};

  if (h->checks_offset == 0)
    return;
  assert_true (pread (m->fd, &check, sizeof check,
                      h->checks_offset + b * sizeof check) >= 0);
  hit (m, h->checks_offset + a * sizeof check, &check, sizeof check);
}

/* Zeros, or no memory. */
static void
zero_page (struct mutant *m)
{
  static const uint8_t zeros[PAGE];
  const struct zspage_header *h = &m->of->header;
  uint64_t end = rng_one_in (&m->rng, 2) ? h->records_offset : h->file_bytes;
  uint64_t at = somewhere (m, 0, end) / PAGE * PAGE;

  hit (m, at, zeros, PAGE);
  if (rng_one_in (&m->rng, 2))
    assert_int_equal (
      fallocate (m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, PAGE),
      0);
}

/* One page of the file gets what another has. */
static void
confuse_pages (struct mutant *m)
{
  uint64_t end = m->of->header.file_bytes;
  uint8_t page[PAGE] = {0};

  assert_true (pread (m->fd, page, PAGE, somewhere (m, 0, end) / PAGE * PAGE) ==
               PAGE);
  hit (m, somewhere (m, 0, end) / PAGE * PAGE, page, PAGE);
}

/* The header of another file of that size, or another length. */
static void
another_file (struct mutant *m)
{
  struct zspage_header h;

  if (rng_one_in (&m->rng, 2)) {
    assert_int_equal (layout_init (&h, NR_PAGES * PAGE,
                                   rng_range (&m->rng, 7, 9),
                                   rng_one_in (&m->rng, 2)),
                      0);
    hit (m, 0, &h, sizeof h);
    return;
  }
  m->hits[m->nr_hits++] = (struct hit){0, PAGE};
  assert_int_equal (
    ftruncate (m->fd, rng_one_in (&m->rng, 2)
                        ? m->of->header.file_bytes + PAGE
                        : rng_below (&m->rng, m->of->header.file_bytes)),
    0);
}

static void
mutate (struct mutant *m)
{
  const struct zspage_header *h = &m->of->header;
  uint64_t offsets[] = {0,
                        h->table_offset,
                        h->checks_offset ? h->checks_offset : h->table_offset,
                        h->records_offset,
                        h->dictionaries_offset,
                        h->data_offset,
                        h->file_bytes};
  unsigned i = rng_below (&m->rng, 6);

  switch (rng_below (&m->rng, 20)) {
  case 0:
    if (rng_one_in (&m->rng, 8))
      another_file (m);
    break;
  case 1:
    zero_page (m);
    break;
  case 2:
    confuse_pages (m);
    break;
  case 3:
  case 4:
  case 5:
    confuse_slots (m);
    break;
  case 6:
    confuse_checks (m);
    break;
  case 7:
    /* What changes in the header, which nothing else guards. */
    flip (m, offsetof (struct zspage_header, pid), sizeof *h);
    break;
  default:
    if (i == 0 && !rng_one_in (&m->rng, 20))
      i = 1;
    flip (m, offsets[i],
          i == 1 ? h->table_offset + NR_PAGES * sizeof (uint64_t)
                 : offsets[i + 1]);
  }
}

static bool
is_hit (const struct mutant *m, uint64_t from, uint64_t len)
{
  unsigned i;

  for (i = 0; i < m->nr_hits; ++i)
    if (m->hits[i].from < from + len && m->hits[i].end > from)
      return true;
  return false;
}

/* Whether this page may read as something else. */
static bool
may_be_wrong (const struct mutant *m, uint64_t idx)
{
  const struct zspage_header *h = &m->of->header;
  uint64_t word = m->of->words[idx], at;
  unsigned g = slot_kind (word) == SLOT_ZSTD ? slot_generation (word) : 0;
  bool slot = is_hit (m, word_offset (m->of, idx), sizeof word);

  /* The geometry, by a header that is not this file's but may be. */
  if (is_hit (m, 0, offsetof (struct zspage_header, pid)))
    return true;
  if (h->checks_offset)
    return slot &&
           is_hit (m, h->checks_offset + idx * sizeof (struct zspage_check),
                   sizeof (struct zspage_check));
  at = slot_ref (word) * ZSPAGE_OBJECT_ALIGN;
  return slot ||
         (slot_has_object (word) &&
          (is_hit (m, h->data_offset + at,
                   slot_len (word) + ZSPAGE_OBJECT_HEADER) ||
           is_hit (m,
                   h->records_offset + at / ZSPAGE_CHUNK_SIZE *
                                         sizeof (struct zspage_chunk_record),
                   sizeof (struct zspage_chunk_record)))) ||
         (g && is_hit (m,
                       h->dictionaries_offset +
                         (uint64_t) (g - 1) * ZSPAGE_DICTIONARY_PLACE,
                       ZSPAGE_DICTIONARY_PLACE));
}

static const char *
check_pages (const struct mutant *m, struct store *store, uint64_t *lost)
{
  static char why[80];
  uint8_t page[PAGE];
  uint64_t idx;
  int r;

  for (idx = 0; idx < NR_PAGES; ++idx) {
    r = store_read (store, page, PAGE, idx * PAGE);
    *lost += r == -EIO;
    if (r == -EIO || (r == 0 && (memcmp (page, m->of->pages[idx], PAGE) == 0 ||
                                 may_be_wrong (m, idx))))
      continue;
    snprintf (why, sizeof why, "page %d: %s", (int) idx,
              r ? strerror (-r) : "wrong bytes");
    return why;
  }
  return NULL;
}

static const char *
write_again (struct store *store, const struct original *o, unsigned shift)
{
  const char *why = NULL;
  uint8_t page[PAGE];
  uint64_t idx;

  for (idx = 0; idx < NR_PAGES; ++idx)
    if (store_write (store, o->pages[(idx + shift) % NR_PAGES], PAGE,
                     idx * PAGE) < 0)
      return "a page cannot be written again";
  store_compact (store);
  for (idx = 0; idx < NR_PAGES; ++idx)
    if (store_read (store, page, PAGE, idx * PAGE) < 0 ||
        memcmp (page, o->pages[(idx + shift) % NR_PAGES], PAGE) != 0)
      return "a page that was written again is wrong";
  if (store_stats_now (store).lost_pages > 0)
    return "pages are lost that were written again";
  return zs_validate (store->pool, &why) < 0 ? why : NULL;
}

struct tally {
  size_t refused, recovered;
  uint64_t lost; /* pages that could not be read */
};

static const char *
mutant_try (struct mutant *m, struct tally *tally)
{
  const struct state_folder *at = &m->of->s.at;
  struct store_config config = {.name = "mutant",
                                .ops = &arena_libc_ops,
                                .codec = m->of->s.f.codec,
                                .strong = m->of->s.strong,
                                .chain_size = 8,
                                .disksize = NR_PAGES * PAGE};
  char before[STATE_PATH + 32], why[STATE_WHY] = "";
  struct state_file file;
  struct store *store;
  const char *wrong;
  bool same;

  snprintf (before, sizeof before, "%s/before", at->folder);
  assert_int_equal (state_copy (at->copy, before), 0);
  if (state_file_open (at->copy, &m->of->header, &file, why) < 0) {
    tally->refused++;
    same = state_is_same (at->copy, before);
    unlink (before);
    return strlen (why) < 20 ? "no reason" : same ? NULL : "it was changed";
  }
  unlink (before);
  config.file = &file;
  if (store_create (&config, &store) < 0)
    return "it was not recovered";
  tally->recovered++;
  wrong = check_pages (m, store, &tally->lost);
  if (wrong == NULL)
    wrong = write_again (store, m->of, 1);
  store_destroy (store);
  return wrong;
}

/* A file that was recovered and written again has no damage left. */
static const char *
mutant_again (const struct mutant *m)
{
  struct store_config config = {.name = "mutant",
                                .ops = &arena_libc_ops,
                                .codec = m->of->s.f.codec,
                                .strong = m->of->s.strong};
  char why[STATE_WHY];
  struct state_file file;
  struct store *store;
  const char *wrong;

  if (state_file_open (m->of->s.at.copy, &m->of->header, &file, why) < 0)
    return NULL;
  config.file = &file;
  if (store_create (&config, &store) < 0)
    return "it was not recovered again";
  wrong = store_recovered (store).lost ? "pages are lost again"
                                       : store_check_why (store);
  if (wrong == NULL)
    wrong = write_again (store, m->of, 2);
  store_destroy (store);
  return wrong;
}

static const char *
mutant_make_and_try (const struct original *o, uint64_t number,
                     struct tally *tally)
{
  struct mutant m = {.of = o, .rng = rng_make (1000 + number)};
  unsigned n = rng_range (&m.rng, 1, 16);
  const char *wrong;

  if (state_copy (o->s.at.path, o->s.at.copy) < 0)
    return "it could not be copied";
  m.fd = open (o->s.at.copy, O_RDWR | O_CLOEXEC);
  assert_true (m.fd >= 0);
  for (; n > 0; --n)
    mutate (&m);
  close (m.fd);
  wrong = mutant_try (&m, tally);
  if (wrong == NULL && number % 4 == 0)
    wrong = mutant_again (&m);
  return wrong;
}

static void
mutants (bool has_checks)
{
  const char *number = getenv ("ZSPAGE_MUTANTS"),
             *one = getenv ("ZSPAGE_MUTANT"), *wrong = NULL;
  struct original *o = malloc (sizeof *o);
  size_t i = one ? strtoull (one, NULL, 0) : 0, end;
  struct tally tally = {0};

  assert_non_null (o);
  end = one ? i + 1 : number ? strtoull (number, NULL, 0) : test_scaled (300);
  original_make (o, has_checks);
  assert_int_equal (codec_pool_create (CODEC_LZ4, codec_levels (CODEC_LZ4).dflt,
                                       1, &o->s.f.codec),
                    0);
  for (; i < end && wrong == NULL; ++i)
    wrong = mutant_make_and_try (o, i, &tally);
  if (wrong)
    fail_msg ("ZSPAGE_SEED=%llu ZSPAGE_MUTANT=%zu: %s",
              (unsigned long long) test_seed (), i - 1, wrong);
  print_message ("%zu refused, %zu recovered without %.1f pages each\n",
                 tally.refused, tally.recovered,
                 (double) tally.lost / (tally.recovered ? tally.recovered : 1));
  codec_pool_destroy (o->s.f.codec);
  state_fixture_fini (&o->s);
  free (o);
}

static void
with_checks_no_page_is_wrong (void **state)
{
  (void) state;
  mutants (true);
}

static void
without_checks_no_page_is_wrong_that_was_not_hit (void **state)
{
  (void) state;
  mutants (false);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (with_checks_no_page_is_wrong),
    cmocka_unit_test (without_checks_no_page_is_wrong_that_was_not_hit),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
