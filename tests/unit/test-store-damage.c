/* SPDX-License-Identifier: BSD-3-Clause */
/* Damaged or impossible data: EIO for that page and a counter, and nothing
 * worse: no other page is touched, the server lives, the page can be written
 * again.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store-fixture.h"
#include "store-internal.h"

/* The page that is damaged, and those beside it. */
#define VICTIM   20
#define NR_PAGES 64

struct damage_fixture {
  struct store_fixture f;
  enum page_kind kind;
  struct rng rng, again; /* again: as it was before the pages were made */
};

static void
init (struct damage_fixture *d, enum codec_id codec, enum page_kind kind)
{
  store_fixture_init (&d->f, (struct store_params){.codec = codec});
  d->kind = kind;
  d->again = d->rng = rng_make (1);
  put_pages (d->f.store, 0, NR_PAGES, kind, &d->rng);
}

/* A damaged store is not valid, so it is not checked. */
static void
fini (struct damage_fixture *d)
{
  store_destroy (d->f.store);
  crew_destroy (d->f.crew);
  codec_pool_destroy (d->f.codec);
}

static void
make_again (const struct damage_fixture *d, enum page_kind kind, uint64_t idx,
            uint8_t *page)
{
  struct rng rng = d->again;
  uint64_t i;

  for (i = 0; i <= idx; ++i)
    page_make (kind, &rng, page);
}

static void
assert_others_are_intact (struct damage_fixture *d, enum page_kind kind)
{
  struct rng rng = d->again;
  uint8_t page[PAGE];
  uint64_t i;

  for (i = 0; i < NR_PAGES; ++i) {
    page_make (kind, &rng, page);
    if (i != VICTIM)
      assert_content (d->f.store, page, PAGE, i * PAGE);
  }
}

static uint64_t
get_word (struct damage_fixture *d)
{
  return d->f.store->slots[VICTIM];
}

static void
set_word (struct damage_fixture *d, uint64_t word)
{
  d->f.store->slots[VICTIM] = word;
}

static uint8_t *
object_of (struct damage_fixture *d, uint64_t word)
{
  return zs_map (d->f.store->pool, slot_ref (word));
}

static void
assert_eio (struct damage_fixture *d)
{
  uint64_t before = store_stats_now (d->f.store).failed_reads;
  uint8_t page[PAGE];

  assert_int_equal (store_read (d->f.store, page, PAGE, VICTIM * PAGE), -EIO);
  assert_int_equal (store_read (d->f.store, page, 10, VICTIM * PAGE + 5), -EIO);
  assert_int_equal (store_stats_now (d->f.store).failed_reads - before, 2);
}

static void
another_owner_in_the_header_is_eio (void **state)
{
  static const enum page_kind kinds[] = {PAGE_TEXT, PAGE_FILL64};
  struct damage_fixture d;
  uint32_t owner;
  size_t k;
  int codec;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec) {
    for (k = 0; k < NELEM (kinds); ++k) {
      init (&d, codec, kinds[k]);
      owner = VICTIM + 1;
      memcpy (object_of (&d, get_word (&d)) - sizeof owner, &owner,
              sizeof owner);
      assert_eio (&d);
      assert_others_are_intact (&d, kinds[k]);
      fini (&d);
    }
  }
}

static void
a_slot_that_refers_to_another_object_is_eio (void **state)
{
  static const enum page_kind kinds[] = {PAGE_TEXT, PAGE_RANDOM};
  struct damage_fixture d;
  size_t k;
  int codec;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec) {
    for (k = 0; k < NELEM (kinds); ++k) {
      init (&d, codec, kinds[k]);
      set_word (&d, d.f.store->slots[VICTIM + 1]);
      assert_eio (&d);
      assert_others_are_intact (&d, kinds[k]);
      fini (&d);
    }
  }
}

static void
impossible_words_are_eio (void **state)
{
  struct damage_fixture d;
  uint64_t word;
  int codec;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec) {
    enum slot_kind other = codec == CODEC_LZ4 ? SLOT_ZSTD : SLOT_LZ4;

    init (&d, codec, PAGE_TEXT);
    word = get_word (&d);
    set_word (&d, SLOT_LOST);
    assert_eio (&d);
    /* The length 0, the data of another codec, a fill of 9 bytes. */
    set_word (&d, word & ~(UINT64_C (0xfff) << SLOT_LEN_SHIFT));
    assert_eio (&d);
    set_word (&d, slot_make_object (other, slot_ref (word), slot_len (word)));
    assert_eio (&d);
    set_word (&d, slot_make_object (SLOT_FILL_OBJ, slot_ref (word), 9));
    assert_eio (&d);
    /* Beyond the data. */
    set_word (&d, slot_with_ref (word, SLOT_REF_MAX));
    assert_eio (&d);
    /* Longer and shorter than it is. */
    set_word (&d, slot_make_object (slot_kind (word), slot_ref (word),
                                    slot_len (word) - 1));
    assert_eio (&d);
    set_word (&d, slot_make_object (slot_kind (word), slot_ref (word), 4095));
    assert_eio (&d);
    set_word (&d, word);
    assert_others_are_intact (&d, PAGE_TEXT);
    fini (&d);
  }
}

/* The pool has no memory for what it knows of such chunks. */
static void
chunks_that_were_never_used_are_eio (void **state)
{
  struct damage_fixture d = {.kind = PAGE_TEXT};
  const struct zspage_header *h;
  struct store_params params = {.nr_pages = UINT64_C (1) << 18};
  uint64_t word, chunk;

  (void) state;
  store_fixture_init (&d.f, params);
  d.again = d.rng = rng_make (1);
  put_pages (d.f.store, 0, NR_PAGES, PAGE_TEXT, &d.rng);
  h = &d.f.store->header;
  word = get_word (&d);
  for (chunk = 0; chunk < h->nr_chunks; chunk += 97) {
    set_word (
      &d, slot_with_ref (
            word, (chunk + 1) * ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN - 1));
    assert_eio (&d);
  }
  set_word (&d, word);
  assert_others_are_intact (&d, PAGE_TEXT);
  fini (&d);
}

static void
flipped_bits_are_eio (void **state)
{
  struct damage_fixture d;
  uint8_t page[PAGE], *object;
  size_t i, n = test_scaled (20000);
  int codec;

  (void) state;
  for (codec = 0; codec < CODEC_COUNT; ++codec) {
    uint64_t failed = 0;
    uint32_t len;

    init (&d, codec, PAGE_TEXT);
    object = object_of (&d, get_word (&d));
    len = slot_len (get_word (&d));
    for (i = 0; i < n; ++i) {
      size_t at = rng_below (&d.rng, len);
      uint8_t was = object[at];
      int r;

      object[at] ^= 1u << rng_below (&d.rng, 8);
      r = store_read (d.f.store, page, PAGE, VICTIM * PAGE);
      assert_true (r == 0 || r == -EIO);
      failed += r < 0;
      object[at] = was;
    }
    assert_int_equal (store_stats_now (d.f.store).failed_reads, failed);
    make_again (&d, PAGE_TEXT, VICTIM, page);
    assert_content (d.f.store, page, PAGE, VICTIM * PAGE);
    assert_others_are_intact (&d, PAGE_TEXT);
    print_message ("%s: %d of %zu flipped bits not noticed\n",
                   codec_name (codec), (int) (n - failed), n);
    /* One in 256 is expected. */
    assert_true (n - failed < 20 + n / 128);
    store_fixture_fini (&d.f);
  }
}

static void
random_words_do_no_harm_to_reads (void **state)
{
  struct damage_fixture d;
  uint8_t page[PAGE];
  uint64_t word, resident;
  size_t i, n = test_scaled (20000);

  (void) state;
  init (&d, CODEC_ZSTD, PAGE_TEXT);
  word = get_word (&d);
  resident = store_stats_now (d.f.store).mem_resident;
  for (i = 0; i < n; ++i) {
    uint64_t garbage = rng_next (&d.rng);

    if (i % 2) /* near what is there */
      garbage =
        slot_with_ref (garbage, slot_ref (word) + rng_below (&d.rng, 2000000));
    set_word (&d, garbage);
    assert_in_range (-store_read (d.f.store, page, PAGE, VICTIM * PAGE), 0,
                     EIO);
  }
  set_word (&d, word);
  assert_others_are_intact (&d, PAGE_TEXT);
  /* Looking for what is not there does not make memory of it. */
  assert_int_equal (store_stats_now (d.f.store).mem_resident, resident);
  store_fixture_fini (&d.f);
}

static void
a_damaged_page_is_not_changed_in_part (void **state)
{
  struct damage_fixture d;
  uint64_t word, other;

  (void) state;
  init (&d, CODEC_LZ4, PAGE_TEXT);
  word = get_word (&d);
  other = d.f.store->slots[VICTIM + 1];
  set_word (&d, other);
  assert_int_equal (store_write (d.f.store, "x", 1, VICTIM * PAGE + 7), -EIO);
  assert_int_equal (store_zero (d.f.store, 10, VICTIM * PAGE + 7), -EIO);
  assert_true (get_word (&d) == other);
  assert_int_equal (store_stats_now (d.f.store).failed_writes, 2);
  set_word (&d, word);
  assert_others_are_intact (&d, PAGE_TEXT);
  store_fixture_fini (&d.f);
}

static void
a_damaged_owner_stops_no_compaction_overwrite_or_trim (void **state)
{
  struct damage_fixture d;
  uint32_t owner = UINT32_MAX;
  uint8_t page[PAGE];

  (void) state;
  init (&d, CODEC_LZ4, PAGE_TEXT);
  trim_pages (d.f.store, 0, VICTIM - 1);
  memcpy (object_of (&d, get_word (&d)) - sizeof owner, &owner, sizeof owner);
  store_compact (d.f.store);
  assert_eio (&d);
  page_make (PAGE_TEXT, &d.rng, page);
  put_page (d.f.store, VICTIM, page);
  assert_content (d.f.store, page, PAGE, VICTIM * PAGE);
  owner = 3;
  memcpy (object_of (&d, get_word (&d)) - sizeof owner, &owner, sizeof owner);
  trim_pages (d.f.store, VICTIM, 1);
  assert_reads_zero (d.f.store, PAGE, VICTIM * PAGE);
  fini (&d);
}

/* What a word that refers to nothing of its own must not make of a write or a
 * trim.  Each is tried by a child, as it may end in an abort, and the child
 * makes no assertions, as those would go on with the other tests.
 */

static bool
has_content (struct damage_fixture *d, uint64_t idx, const uint8_t *want)
{
  uint8_t page[PAGE];

  return store_read (d->f.store, page, PAGE, idx * PAGE) == 0 &&
         memcmp (page, want, PAGE) == 0;
}

static bool
write_kind (struct damage_fixture *d, enum page_kind kind, uint64_t idx)
{
  uint8_t page[PAGE];

  page_make (kind, &d->rng, page);
  return store_write (d->f.store, page, PAGE, idx * PAGE) == 0 &&
         has_content (d, idx, page);
}

static bool
overwrite (struct damage_fixture *d)
{
  return write_kind (d, PAGE_RANDOM, VICTIM);
}

static bool
trim (struct damage_fixture *d)
{
  static const uint8_t zeros[PAGE];

  return store_trim (d->f.store, PAGE, VICTIM * PAGE) == 0 &&
         has_content (d, VICTIM, zeros);
}

/* This may fail, or not. */
static bool
overwrite_at_the_limit (struct damage_fixture *d)
{
  store_set_mem_limit (d->f.store, 1);
  write_kind (d, PAGE_FILL64, VICTIM);
  store_set_mem_limit (d->f.store, 0);
  return true;
}

static bool (*const changes[]) (struct damage_fixture *) = {
  overwrite, trim, overwrite_at_the_limit};

static bool
others_are_intact (struct damage_fixture *d)
{
  struct rng rng = d->again;
  uint8_t page[PAGE];
  uint64_t i;

  for (i = 0; i < NR_PAGES; ++i) {
    page_make (d->kind, &rng, page);
    if (i != VICTIM && !has_content (d, i, page))
      return false;
  }
  return true;
}

static void
child (struct damage_fixture *d, bool (*change) (struct damage_fixture *))
{
  const char *why = "no memory";
  uint64_t i;

  signal (SIGSEGV, SIG_DFL);
  signal (SIGBUS, SIG_DFL);
  if (!change (d))
    _exit (1);
  /* What was freed is used again. */
  for (i = 0; i < 200; ++i)
    if (!write_kind (d, d->kind, 100 + i))
      _exit (2);
  if (!others_are_intact (d))
    _exit (3);
  if (zs_validate (d->f.store->pool, &why) < 0)
    _exit (4);
  _exit (0);
}

static void
assert_child_survives (enum page_kind kind, uint64_t word_of_another,
                       uint64_t word, bool (*change) (struct damage_fixture *))
{
  struct damage_fixture d;
  int status;
  pid_t pid;

  init (&d, CODEC_LZ4, kind);
  if (word_of_another)
    word = d.f.store->slots[word_of_another];
  fflush (NULL);
  pid = fork ();
  assert_int_not_equal (pid, -1);
  if (pid == 0) {
    set_word (&d, word);
    child (&d, change);
  }
  assert_int_equal (waitpid (pid, &status, 0), pid);
  fini (&d);
  if (status != 0)
    fail_msg ("%s: %s %d",
              change == overwrite ? "overwrite"
              : change == trim    ? "trim"
                                  : "overwrite at the limit",
              WIFSIGNALED (status) ? "killed by signal" : "exit status",
              WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
}

static void
writes_and_trims_survive_a_slot_that_refers_to_another_object (void **state)
{
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (changes); ++i) {
    assert_child_survives (PAGE_TEXT, VICTIM + 1, 0, changes[i]);
    assert_child_survives (PAGE_RANDOM, VICTIM + 1, 0, changes[i]);
  }
}

static void
writes_and_trims_survive_a_slot_that_refers_to_nothing (void **state)
{
  size_t i;

  (void) state;
  for (i = 0; i < NELEM (changes); ++i) {
    /* No such chunk; a chunk that is not in use; the middle of something. */
    assert_child_survives (
      PAGE_TEXT, 0, slot_make_object (SLOT_LZ4, SLOT_REF_MAX, 100), changes[i]);
    assert_child_survives (
      PAGE_TEXT, 0,
      slot_make_object (SLOT_LZ4, 20 * ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN,
                        100),
      changes[i]);
    assert_child_survives (
      PAGE_TEXT, 0,
      slot_make_object (SLOT_LZ4, ZSPAGE_CHUNK_SIZE / ZSPAGE_OBJECT_ALIGN + 3,
                        100),
      changes[i]);
  }
}

/* A slot that still has the word of an object that is freed. */
static void
a_freed_object_is_eio (void **state)
{
  static const enum page_kind kinds[] = {PAGE_TEXT, PAGE_FILL64, PAGE_RANDOM};
  size_t k;

  (void) state;
  for (k = 0; k < NELEM (kinds); ++k) {
    struct damage_fixture d;
    uint64_t word;

    init (&d, CODEC_LZ4, kinds[k]);
    word = get_word (&d);
    trim_pages (d.f.store, VICTIM, 1);
    set_word (&d, word);
    assert_eio (&d);
    trim_pages (d.f.store, VICTIM, 1);
    assert_others_are_intact (&d, kinds[k]);
    fini (&d);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (another_owner_in_the_header_is_eio),
    cmocka_unit_test (a_slot_that_refers_to_another_object_is_eio),
    cmocka_unit_test (a_freed_object_is_eio),
    cmocka_unit_test (impossible_words_are_eio),
    cmocka_unit_test (chunks_that_were_never_used_are_eio),
    cmocka_unit_test (flipped_bits_are_eio),
    cmocka_unit_test (random_words_do_no_harm_to_reads),
    cmocka_unit_test (a_damaged_page_is_not_changed_in_part),
    cmocka_unit_test (a_damaged_owner_stops_no_compaction_overwrite_or_trim),
    cmocka_unit_test (
      writes_and_trims_survive_a_slot_that_refers_to_another_object),
    cmocka_unit_test (writes_and_trims_survive_a_slot_that_refers_to_nothing),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
