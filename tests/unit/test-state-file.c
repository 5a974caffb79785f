/* SPDX-License-Identifier: BSD-3-Clause */
/* State files: what is in their header, that one process has one, and that
 * what cannot be served is refused with a reason and stays as it is.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state-fixture.h"

#define NR_PAGES 1024u

/* Of a device of 4 MiB with chains of 8 and checks. */
static const uint8_t golden[104] = {
  0x5a, 0x53, 0x50, 0x41, 0x47, 0x45, 0x30, 0x31, 0x01, 0x00, 0x00, 0x00, 0x78,
  0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x10,
  0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00,
  0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00,
  0x00, 0x00, 0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
  0xe0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00,
  0x00, 0x00, 0x00, 0x00, 0x80, 0x06, 0x00, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00,
  0x00, 0x0f, 0x00, 0x00, 0x00, 0xdf, 0x2f, 0xcb, 0xff, 0x5e, 0x60, 0x78, 0xb5,
};

static struct zspage_header
wanted (uint64_t nr_pages)
{
  struct zspage_header h;

  assert_int_equal (layout_init (&h, nr_pages * PAGE, 8, true), 0);
  return h;
}

static void
the_header_of_a_geometry_never_changes (void **state)
{
  const struct store_params params = {.nr_pages = NR_PAGES, .has_checks = true};
  struct state_fixture s;
  struct zspage_header h = wanted (NR_PAGES);
  uint8_t want[120] = {0}, is[120];
  uint32_t one = 1, pid = getpid ();

  (void) state;
  if (ZSPAGE_FORMAT_MAGIC != *(const uint64_t *) "ZSPAGE01")
    skip (); /* of the other byte order */
  memcpy (want, golden, sizeof golden);
  assert_memory_equal (&h, want, sizeof want);

  state_fixture_init (&s, params, false);
  memcpy (want + 104, &pid, sizeof pid);
  state_peek (s.at.path, 0, is, sizeof is);
  memcpy (want + 116, is + 116, 4); /* of the machine's boot */
  assert_memory_equal (is, want, sizeof want);
  state_fixture_close (&s);
  memset (want + 104, 0, sizeof pid);
  memcpy (want + 108, &one, sizeof one);
  state_peek (s.at.path, 0, is, sizeof is);
  assert_memory_equal (is, want, sizeof want);
  state_fixture_fini (&s);
}

static void
one_process_has_a_file (void **state)
{
  const struct store_params params = {.nr_pages = NR_PAGES, .has_checks = true};
  struct zspage_header h = wanted (NR_PAGES);
  struct state_fixture s;
  struct state_file file;
  char why[STATE_WHY], pid[32];

  (void) state;
  state_fixture_init (&s, params, false);
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), -EBUSY);
  snprintf (pid, sizeof pid, "process %d ", (int) getpid ());
  assert_non_null (strstr (why, pid));
  assert_non_null (strstr (why, s.at.path));
  assert_int_equal (state_file_open_readonly (s.at.path, &file, why), -EBUSY);
  state_fixture_close (&s);

  /* Any number may look. */
  assert_int_equal (state_file_open_readonly (s.at.path, &file, why), 0);
  assert_int_equal (
    state_file_open (s.at.path, &h, &(struct state_file){0}, why), -EBUSY);
  close (file.fd);
  state_fixture_open (&s);
  state_fixture_fini (&s);
}

static void
a_new_process_id_is_told (void **state)
{
  struct state_fixture s;
  struct zspage_header h;

  (void) state;
  state_fixture_init (&s, (struct store_params){.nr_pages = NR_PAGES}, false);
  h = state_header (s.at.path);
  h.pid = 1;
  state_header_set (s.at.path, h);
  store_set_pid (s.f.store);
  assert_int_equal (state_header (s.at.path).pid, getpid ());
  state_fixture_fini (&s);
}

/* A file that was closed, and a copy of it. */
static void
closed_file (struct state_fixture *s)
{
  const struct store_params params = {.nr_pages = NR_PAGES, .has_checks = true};
  struct rng rng = rng_make (1);

  state_fixture_init (s, params, false);
  put_pages (s->f.store, 0, 20, PAGE_HALF, &rng);
  state_fixture_close (s);
}

/* It is refused so, with a reason, and stays as it is. */
static void
assert_refused (struct state_fixture *s, int err, const char *reason)
{
  struct zspage_header h = wanted (NR_PAGES);
  struct state_file file;
  char why[STATE_WHY] = "";
  int r;

  assert_int_equal (state_copy (s->at.path, s->at.copy), 0);
  r = state_file_open (s->at.path, &h, &file, why);
  if (r != -err || strstr (why, reason) == NULL)
    fail_msg ("%s (%d), not %s: %s", strerror (-r), r, strerror (err), why);
  assert_non_null (strstr (why, s->at.path));
  assert_true (state_is_same (s->at.path, s->at.copy));
  if (err != ESTALE && err != EPERM)
    assert_int_equal (state_file_open_readonly (s->at.path, &file, why), -err);
}

/* The same with a change of the header. */
#define REFUSED(change, err, reason)                                           \
  do {                                                                         \
    struct state_fixture s;                                                    \
    struct zspage_header h;                                                    \
                                                                               \
    closed_file (&s);                                                          \
    h = state_header (s.at.path);                                              \
    change;                                                                    \
    state_header_set (s.at.path, h);                                           \
    assert_refused (&s, err, reason);                                          \
    state_fixture_fini (&s);                                                   \
  } while (0)

static void
foreign_files_are_refused (void **state)
{
  (void) state;
  REFUSED (h.magic ^= 1, EMEDIUMTYPE, "not a state file");
  REFUSED (h.magic = 0, EMEDIUMTYPE, "not a state file");
  REFUSED (h.magic = __builtin_bswap64 (h.magic), EPROTONOSUPPORT,
           "byte order");
}

static void
newer_files_are_refused (void **state)
{
  (void) state;
  REFUSED (h.version = 2, EPROTONOSUPPORT, "version 2");
  REFUSED (h.version = 0, EPROTONOSUPPORT, "version 0");
  REFUSED (h.features |= 8, EPROTONOSUPPORT, "features (0x8)");
}

static void
impossible_geometries_are_refused (void **state)
{
  (void) state;
  REFUSED (h.header_bytes = 128, EUCLEAN, "geometry");
  REFUSED (h.chain_size = 3, EUCLEAN, "geometry");
  REFUSED (h.chain_size = 17, EUCLEAN, "geometry");
  REFUSED (h.page_bytes = 8192, EUCLEAN, "geometry");
  REFUSED (h.chunk_bytes *= 2, EUCLEAN, "geometry");
  REFUSED (h.disksize = 0, EUCLEAN, "geometry");
  REFUSED (h.disksize += 1, EUCLEAN, "geometry");
  REFUSED (h.disksize = UINT64_MAX / PAGE * PAGE, EUCLEAN, "geometry");
  REFUSED (h.disksize *= 2, EUCLEAN, "geometry");
  REFUSED (h.table_offset += PAGE, EUCLEAN, "geometry");
  REFUSED (h.checks_offset = 0, EUCLEAN, "geometry");
  REFUSED (h.features &= ~ZSPAGE_FEATURE_CHECKS, EUCLEAN, "geometry");
  REFUSED (h.records_offset = UINT64_MAX, EUCLEAN, "geometry");
  REFUSED (h.dictionaries_offset -= 1, EUCLEAN, "geometry");
  REFUSED (h.data_offset += ZSPAGE_CHUNK_SIZE, EUCLEAN, "geometry");
  REFUSED (h.file_bytes += ZSPAGE_CHUNK_SIZE, EUCLEAN, "geometry");
  REFUSED (h.nr_chunks = 0, EUCLEAN, "geometry");
  REFUSED (h.nr_chunks += 1, EUCLEAN, "geometry");
  REFUSED (h.nr_chunks = UINT32_MAX, EUCLEAN, "geometry");
  REFUSED (h.nr_dictionaries = 16, EUCLEAN, "geometry");
}

static void
a_damaged_header_is_refused (void **state)
{
  struct state_fixture s;
  struct zspage_header h;
  size_t i;

  (void) state;
  closed_file (&s);
  h = state_header (s.at.path);
  for (i = 0; i < offsetof (struct zspage_header, pid) * 8; ++i) {
    struct zspage_header bad = h;

    ((uint8_t *) &bad)[i / 8] ^= 1 << i % 8;
    state_poke (s.at.path, 0, &bad, sizeof bad);
    assert_refused (&s,
                    i < 64   ? EMEDIUMTYPE
                    : i < 96 ? EPROTONOSUPPORT
                             : EUCLEAN,
                    "");
  }
  state_poke (s.at.path, 0, &h, sizeof h);
  state_fixture_open (&s);
  assert_int_equal (store_recovered (s.f.store).pages, 20);
  state_fixture_fini (&s);
}

static void
a_file_of_another_length_is_refused (void **state)
{
  struct state_fixture s;
  struct zspage_header h;
  size_t i;

  (void) state;
  closed_file (&s);
  h = state_header (s.at.path);
  const struct {
    uint64_t bytes;
    int err;
  } cases[] = {
    {h.file_bytes + 1, EUCLEAN},
    {h.file_bytes + PAGE, EUCLEAN},
    {h.file_bytes - 1, EUCLEAN},
    {h.data_offset, EUCLEAN},
    {sizeof h, EUCLEAN},
    {sizeof h - 17, EUCLEAN},
    {12, EUCLEAN},
    {7, EMEDIUMTYPE},
    {0, EMEDIUMTYPE},
  };
  for (i = 0; i < NELEM (cases); ++i) {
    assert_int_equal (truncate (s.at.path, cases[i].bytes), 0);
    assert_refused (&s, cases[i].err, "");
  }
  state_fixture_fini (&s);
}

static void
what_is_no_regular_file_is_refused (void **state)
{
  struct state_fixture s;
  struct zspage_header h = wanted (NR_PAGES);
  struct state_file file;
  char why[STATE_WHY];

  (void) state;
  closed_file (&s);
  assert_int_equal (rename (s.at.path, s.at.copy), 0);
  assert_int_equal (symlink ("copy", s.at.path), 0);
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), -ELOOP);
  assert_non_null (strstr (why, "symbolic link"));
  unlink (s.at.path);
  assert_int_equal (symlink ("nowhere", s.at.path), 0);
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), -ELOOP);
  unlink (s.at.path);
  assert_int_equal (mkfifo (s.at.path, 0600), 0);
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), -EMEDIUMTYPE);
  assert_non_null (strstr (why, "regular"));
  unlink (s.at.path);
  assert_int_equal (mkdir (s.at.path, 0700), 0);
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), -EISDIR);
  assert_non_null (strstr (why, s.at.path));
  rmdir (s.at.path);
  state_fixture_fini (&s);
}

static void
what_others_can_open_is_refused (void **state)
{
  struct state_fixture s;

  (void) state;
  closed_file (&s);
  assert_int_equal (chmod (s.at.path, 0640), 0);
  assert_refused (&s, EPERM, "its mode is 0640; 0600 is right");
  assert_int_equal (chmod (s.at.path, 0600), 0);
  if (geteuid () == 0) {
    assert_int_equal (chown (s.at.path, 12345, 12345), 0);
    assert_refused (&s, EPERM, "belongs to another user, 12345");
  }
  state_fixture_fini (&s);
}

static void
what_a_disk_has_of_another_boot_is_refused (void **state)
{
  struct state_fixture s;
  struct zspage_header h;

  (void) state;
  closed_file (&s);
  h = state_header (s.at.path);
  h.boot ^= 1;
  h.was_closed = 0;
  state_header_set (s.at.path, h);
  if (h.boot != 1) /* it is known */
    assert_refused (&s, ESTALE, "not closed before this machine was started");
  h.was_closed = 1;
  state_header_set (s.at.path, h);
  state_fixture_open (&s);
  state_fixture_fini (&s);
}

/* A lock ends with the memory of who had it, some time after it was killed. */
static void
one_that_was_killed_is_waited_for (void **state)
{
  struct state_fixture s;
  int ready[2], fd;
  char c;
  pid_t pid;

  (void) state;
  closed_file (&s);
  assert_int_equal (pipe (ready), 0);
  pid = fork ();
  assert_true (pid >= 0);
  if (pid == 0) {
    fd = open (s.at.path, O_RDWR);
    if (flock (fd, LOCK_EX) == 0)
      c = write (ready[1], "x", 1);
    usleep (300 * 1000);
    kill (getpid (), SIGKILL);
  }
  assert_int_equal (read (ready[0], &c, 1), 1);
  state_fixture_open (&s);
  assert_int_equal (waitpid (pid, NULL, 0), pid);
  close (ready[0]);
  close (ready[1]);
  state_fixture_fini (&s);
}

static void
a_file_of_another_disksize_is_refused (void **state)
{
  struct state_fixture s;

  (void) state;
  state_fixture_init (
    &s, (struct store_params){.nr_pages = 512, .has_checks = true}, false);
  state_fixture_close (&s);
  assert_refused (&s, ESTALE, "disksize=2097152");
  state_fixture_fini (&s);
}

static void
the_geometry_of_the_file_counts (void **state)
{
  struct state_fixture s;

  (void) state;
  closed_file (&s);
  s.params.chain_size = 5;
  s.params.has_checks = false;
  state_fixture_open (&s);
  assert_true (store_has_checks (s.f.store));
  assert_int_equal (store_recovered (s.f.store).pages, 20);
  assert_int_equal (store_recovered (s.f.store).lost, 0);
  state_fixture_fini (&s);
}

static const char *removed_before_flock;
int __real_flock (int fd, int how);
int __wrap_flock (int fd, int how);

int
__wrap_flock (int fd, int how)
{
  if (removed_before_flock)
    unlink (removed_before_flock);
  removed_before_flock = NULL;
  return __real_flock (fd, how);
}

static void
a_file_that_is_just_removed_is_not_opened (void **state)
{
  struct zspage_header h = wanted (NR_PAGES);
  struct state_fixture s;
  struct state_file file;
  char why[STATE_WHY];

  (void) state;
  closed_file (&s);
  removed_before_flock = s.at.path;
  assert_int_equal (state_file_open (s.at.path, &h, &file, why), 0);
  assert_true (file.is_new);
  close (file.fd);
  assert_int_equal (access (s.at.path, F_OK), 0);
  state_fixture_fini (&s);
}

static void
a_file_cannot_be_made_everywhere (void **state)
{
  struct state_folder at;
  struct zspage_header h = wanted (NR_PAGES);
  struct state_file file;
  char why[STATE_WHY], path[sizeof at.path + 16];

  (void) state;
  assert_true (state_folder_make (&at));
  snprintf (path, sizeof path, "%s/a/b", at.folder);
  assert_int_equal (state_file_open (path, &h, &file, why), -ENOENT);
  assert_non_null (strstr (why, path));
  assert_int_equal (state_file_open_readonly (at.path, &file, why), -ENOENT);
  assert_non_null (strstr (why, at.path));
  state_folder_remove (&at);
}

static void
only_the_owner_may_read_a_file (void **state)
{
  struct state_fixture s;
  struct stat st;

  (void) state;
  closed_file (&s);
  assert_int_equal (stat (s.at.path, &st), 0);
  assert_int_equal (st.st_mode & 07777, 0600);
  assert_true ((uint64_t) st.st_blocks * 512 < 100 * PAGE);
  state_fixture_fini (&s);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (the_header_of_a_geometry_never_changes),
    cmocka_unit_test (one_process_has_a_file),
    cmocka_unit_test (a_new_process_id_is_told),
    cmocka_unit_test (foreign_files_are_refused),
    cmocka_unit_test (newer_files_are_refused),
    cmocka_unit_test (impossible_geometries_are_refused),
    cmocka_unit_test (a_damaged_header_is_refused),
    cmocka_unit_test (a_file_of_another_length_is_refused),
    cmocka_unit_test (what_is_no_regular_file_is_refused),
    cmocka_unit_test (what_others_can_open_is_refused),
    cmocka_unit_test (what_a_disk_has_of_another_boot_is_refused),
    cmocka_unit_test (one_that_was_killed_is_waited_for),
    cmocka_unit_test (a_file_of_another_disksize_is_refused),
    cmocka_unit_test (the_geometry_of_the_file_counts),
    cmocka_unit_test (a_file_that_is_just_removed_is_not_opened),
    cmocka_unit_test (a_file_cannot_be_made_everywhere),
    cmocka_unit_test (only_the_owner_may_read_a_file),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
