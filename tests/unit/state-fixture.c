/* SPDX-License-Identifier: BSD-3-Clause */
/* See state-fixture.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state-fixture.h"

/* Compared or copied at once. */
#define STEP (64 * 1024u)

bool
state_folder_make (struct state_folder *folder)
{
  const char *tmp = getenv ("TMPDIR");

  snprintf (folder->folder, STATE_PATH, "/dev/shm/zspage-test-XXXXXX");
  if (mkdtemp (folder->folder) == NULL) {
    snprintf (folder->folder, STATE_PATH, "%s/zspage-test-XXXXXX",
              tmp ? tmp : "/tmp");
    if (mkdtemp (folder->folder) == NULL)
      return false;
  }
  snprintf (folder->path, sizeof folder->path, "%s/state", folder->folder);
  snprintf (folder->copy, sizeof folder->copy, "%s/copy", folder->folder);
  return true;
}

void
state_folder_remove (struct state_folder *folder)
{
  unlink (folder->path);
  unlink (folder->copy);
  rmdir (folder->folder);
}

void
state_fixture_init (struct state_fixture *s, struct store_params params,
                    bool has_strong)
{
  memset (s, 0, sizeof *s);
  assert_true (state_folder_make (&s->at));
  if (has_strong)
    assert_int_equal (
      codec_pool_create (CODEC_ZSTD, AUTO_LEVEL_STRONG, 1, &s->strong), 0);
  s->params = params;
  s->params.path = s->at.path;
  s->params.strong = s->strong;
  state_fixture_open (s);
}

void
state_fixture_open (struct state_fixture *s)
{
  store_fixture_init (&s->f, s->params);
}

void
state_fixture_close (struct state_fixture *s)
{
  store_fixture_fini (&s->f);
  s->f.store = NULL;
}

void
state_fixture_kill (struct state_fixture *s)
{
  assert_int_equal (state_copy (s->at.path, s->at.copy), 0);
  state_fixture_close (s);
  assert_int_equal (rename (s->at.copy, s->at.path), 0);
}

void
state_fixture_fini (struct state_fixture *s)
{
  if (s->f.store)
    state_fixture_close (s);
  codec_pool_destroy (s->strong);
  state_folder_remove (&s->at);
}

static int
copy_fd (int in, int out)
{
  static uint8_t buf[STEP];
  struct stat st;
  off_t at = 0, hole;
  ssize_t n;

  if (fstat (in, &st) == -1 || ftruncate (out, st.st_size) == -1)
    return -errno;
  while ((at = lseek (in, at, SEEK_DATA)) != -1) {
    hole = lseek (in, at, SEEK_HOLE);
    while (at < hole) {
      size_t len = hole - at < (off_t) STEP ? (size_t) (hole - at) : STEP;

      n = pread (in, buf, len, at);
      if (n <= 0 || pwrite (out, buf, n, at) != n)
        return -EIO;
      at += n;
    }
  }
  return 0;
}

int
state_copy (const char *from, const char *to)
{
  int in = open (from, O_RDONLY | O_CLOEXEC), r;
  int out = open (to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

  r = in == -1 || out == -1 ? -errno : copy_fd (in, out);
  if (in >= 0)
    close (in);
  if (out >= 0)
    close (out);
  return r;
}

/* Where there are data from at on, or the end. */
static off_t
data_next (int fd, off_t at, off_t end)
{
  off_t next = lseek (fd, at, SEEK_DATA);

  return next == -1 ? end : next;
}

static bool
is_same (int a, int b)
{
  static uint8_t buf_a[STEP], buf_b[STEP];
  off_t at = 0, next, end;
  struct stat sa, sb;
  ssize_t n;

  if (fstat (a, &sa) == -1 || fstat (b, &sb) == -1 ||
      sa.st_size != sb.st_size || sa.st_blocks != sb.st_blocks)
    return false;
  end = sa.st_size;
  while (at < end) {
    next = data_next (a, at, end);
    at = data_next (b, at, end);
    at = at < next ? at : next;
    n = at < end ? pread (a, buf_a, STEP, at) : 0;
    if (at < end && (n <= 0 || pread (b, buf_b, STEP, at) != n ||
                     memcmp (buf_a, buf_b, n) != 0))
      return false;
    at += n;
  }
  return true;
}

bool
state_is_same (const char *path_a, const char *path_b)
{
  int a = open (path_a, O_RDONLY | O_CLOEXEC);
  int b = open (path_b, O_RDONLY | O_CLOEXEC);
  bool same;

  assert_true (a >= 0 && b >= 0);
  same = is_same (a, b);
  close (a);
  close (b);
  return same;
}

void
state_peek (const char *path, uint64_t offset, void *buf, size_t len)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  assert_true (fd >= 0);
  assert_int_equal (pread (fd, buf, len, offset), len);
  close (fd);
}

void
state_poke (const char *path, uint64_t offset, const void *buf, size_t len)
{
  int fd = open (path, O_WRONLY | O_CLOEXEC);

  assert_true (fd >= 0);
  assert_int_equal (pwrite (fd, buf, len, offset), len);
  close (fd);
}

struct zspage_header
state_header (const char *path)
{
  struct zspage_header h;

  state_peek (path, 0, &h, sizeof h);
  return h;
}

void
state_header_set (const char *path, struct zspage_header h)
{
  h.checksum = codec_hash (&h, offsetof (struct zspage_header, checksum));
  state_poke (path, 0, &h, sizeof h);
}

uint64_t
state_word (const char *path, uint64_t idx)
{
  uint64_t word;

  state_peek (path, state_header (path).table_offset + idx * sizeof word, &word,
              sizeof word);
  return word;
}

void
state_word_set (const char *path, uint64_t idx, uint64_t word)
{
  state_poke (path, state_header (path).table_offset + idx * sizeof word, &word,
              sizeof word);
}
