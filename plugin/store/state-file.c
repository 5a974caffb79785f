/* SPDX-License-Identifier: BSD-3-Clause */
/* See state-file.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec.h"
#include "fault-point.h"
#include "state-file.h"

/* A process that was killed has its lock until its memory is gone, which takes
 * about 0.14 s a GiB: how long to wait for that, and how often to look.
 */
#define WAIT_MS         1000u
#define WAIT_MS_PER_GIB 300u
#define LOOK_MS         5u

/* Others may make, or remove, the file at the same moment; not for ever. */
#define TRIES 8u

__attribute__ ((format (printf, 3, 4))) static int
fail (char why[STATE_WHY], int err, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vsnprintf (why, STATE_WHY, format, args);
  va_end (args);
  return -err;
}

static int
read_header (int fd, struct zspage_header *header, uint64_t *file_bytes)
{
  struct stat st;
  ssize_t n;

  if (fstat (fd, &st) == -1)
    return -errno;
  *file_bytes = st.st_size;
  memset (header, 0, sizeof *header);
  n = pread (fd, header, sizeof *header, 0);
  return n == -1 ? -errno : 0;
}

/* Whoever has it wrote its PID after it locked the file, a moment later. */
static int
fail_busy (int fd, const char *path, char why[STATE_WHY])
{
  struct zspage_header h;
  uint64_t bytes;

  if (read_header (fd, &h, &bytes) == 0 && h.magic == ZSPAGE_FORMAT_MAGIC &&
      h.pid != 0)
    return fail (why, EBUSY, "%s: process %" PRIu32 " has it open", path,
                 h.pid);
  return fail (why, EBUSY, "%s: another process has it open", path);
}

/* Whether it could be locked; not at once, perhaps. */
static bool
lock (int fd, int how, const struct stat *st)
{
  uint64_t gib = (uint64_t) st->st_blocks * 512 >> 30;
  unsigned ms, most = WAIT_MS + WAIT_MS_PER_GIB * gib;

  for (ms = 0; flock (fd, how | LOCK_NB) == -1; ms += LOOK_MS) {
    if (errno != EWOULDBLOCK || ms >= most)
      return false;
    usleep (LOOK_MS * 1000);
  }
  return true;
}

/* Somebody else's file could be read, or changed under the server, by him. */
static int
check_owner (const char *path, const struct stat *st, char why[STATE_WHY])
{
  char *copy = strdup (path);
  struct stat dir = {0};
  bool is_ours = st->st_uid == geteuid () || st->st_uid == 0;

  /* As after nbdkit -u. */
  if (!is_ours && copy && stat (dirname (copy), &dir) == 0)
    is_ours = st->st_uid == dir.st_uid;
  free (copy);
  if (!is_ours)
    return fail (why, EPERM, "%s: it belongs to another user, %u", path,
                 (unsigned) st->st_uid);
  if (st->st_mode & 077)
    return fail (why, EPERM,
                 "%s: others may open it, as its mode is %04o; 0600 is right",
                 path, (unsigned) st->st_mode & 07777);
  return 0;
}

/* A number of this boot of the machine; 0: not known. */
static uint32_t
boot_number (void)
{
  char id[37] = "";
  int fd = open ("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  ssize_t n = -1;

  if (fd >= 0) {
    n = read (fd, id, sizeof id - 1);
    close (fd);
  }
  return n > 0 ? codec_hash (id, n) : 0;
}

/* Lock and read what is there; file->fd is open. */
static int
take (const char *path, int how, struct state_file *file, char why[STATE_WHY])
{
  uint64_t bytes;
  struct stat st;
  int r;

  if (fstat (file->fd, &st) == -1)
    return fail (why, errno, "%s: %s", path, strerror (errno));
  if (!S_ISREG (st.st_mode))
    return fail (why, EMEDIUMTYPE, "%s: it is not a regular file", path);
  if (how == LOCK_EX) {
    r = check_owner (path, &st, why);
    if (r < 0)
      return r;
  }
  if (!lock (file->fd, how, &st))
    return errno == EWOULDBLOCK ? fail_busy (file->fd, path, why)
                                : fail (why, errno, "%s: cannot be locked: %s",
                                        path, strerror (errno));
  r = read_header (file->fd, &file->header, &bytes);
  if (r < 0)
    return fail (why, -r, "%s: %s", path, strerror (-r));
  r = layout_check (&file->header, bytes, why);
  if (r < 0) {
    char reason[LAYOUT_WHY];

    memcpy (reason, why, sizeof reason);
    return fail (why, -r, "%s: %s", path, reason);
  }
  return 0;
}

/* Whether the file still has that name: it may have lost it before it was
 * locked, and then is nobody's.
 */
static bool
is_named (const struct state_file *file, const char *path)
{
  struct stat a, b;

  return fstat (file->fd, &a) == 0 && lstat (path, &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* What a file is refused for that can be read; else it is this process's. */
static int
own (const char *path, const struct zspage_header *wanted,
     const struct state_file *file, char why[STATE_WHY])
{
  const struct zspage_header *h = &file->header;
  struct zspage_header now = *h;

  if (h->disksize != wanted->disksize)
    return fail (why, ESTALE,
                 "%s: it is of a device of %" PRIu64 " bytes, and disksize is "
                 "%" PRIu64 "; say disksize=%" PRIu64 ", or remove the file",
                 path, h->disksize, wanted->disksize, h->disksize);
  now.pid = getpid ();
  now.boot = boot_number ();
  if (h->was_closed != 1 && h->boot != 0 && now.boot != 0 &&
      h->boot != now.boot)
    return fail (why, ESTALE,
                 "%s: it was not closed before this machine was started again, "
                 "so that what the disk has of it is of different moments; "
                 "remove the file",
                 path);
  if (pwrite (file->fd, &now, sizeof now, 0) != sizeof now)
    return fail (why, EIO, "%s: cannot be written", path);
  return 0;
}

/* A complete file without a name, locked. */
static int
make_nameless (const char *path, const struct zspage_header *header)
{
  char *copy = strdup (path);
  int fd = -1, err = ENOMEM;
  ssize_t n;

  if (copy)
    fd = open (dirname (copy), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (copy && fd == -1)
    err = errno;
  free (copy);
  if (fd == -1)
    return -err;
  n = pwrite (fd, header, sizeof *header, 0);
  if (n != sizeof *header || ftruncate (fd, header->file_bytes) == -1 ||
      flock (fd, LOCK_EX | LOCK_NB) == -1) {
    err = n == -1 || n == sizeof *header ? errno : ENOSPC;
    close (fd);
    return -err;
  }
  return fd;
}

/* -EEXIST: somebody else just made one. */
static int
make (const char *path, const struct zspage_header *wanted,
      struct state_file *file, char why[STATE_WHY])
{
  char proc[64];
  int err;

  file->header = *wanted;
  file->header.pid = getpid ();
  file->header.boot = boot_number ();
  file->is_new = true;
  file->fd = make_nameless (path, &file->header);
  if (file->fd < 0)
    return fail (why, -file->fd, "%s: cannot be made: %s", path,
                 file->fd == -EOPNOTSUPP ? "this file system has no O_TMPFILE"
                                         : strerror (-file->fd));
  FAULT_POINT ("state-file: made");
  snprintf (proc, sizeof proc, "/proc/self/fd/%d", file->fd);
  if (linkat (AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
    FAULT_POINT ("state-file: named");
    return 0;
  }
  err = errno;
  close (file->fd);
  return fail (why, err, "%s: cannot be named: %s", path, strerror (err));
}

/* -ENOENT, without a reason: there is none.  -EEXIST: it lost its name just now. */
static int
open_existing (const char *path, const struct zspage_header *wanted,
               struct state_file *file, char why[STATE_WHY])
{
  int r;

  file->is_new = false;
  file->fd =
    open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file->fd == -1 && errno == ENOENT)
    return -ENOENT;
  if (file->fd == -1)
    return fail (why, errno, "%s: %s", path,
                 errno == ELOOP ? "it is a symbolic link" : strerror (errno));
  r = take (path, LOCK_EX, file, why);
  if (r == 0 && !is_named (file, path))
    r = fail (why, EEXIST, "%s: it was removed at this moment", path);
  if (r == 0)
    r = own (path, wanted, file, why);
  if (r < 0)
    close (file->fd);
  return r;
}

int
state_file_open (const char *path, const struct zspage_header *wanted,
                 struct state_file *file, char why[STATE_WHY])
{
  unsigned i;
  int r;

  for (i = 0; i < TRIES; ++i) {
    r = open_existing (path, wanted, file, why);
    if (r == -ENOENT)
      r = make (path, wanted, file, why);
    if (r != -EEXIST)
      return r;
  }
  return r;
}

int
state_file_open_readonly (const char *path, struct state_file *file,
                          char why[STATE_WHY])
{
  int r;

  file->is_new = false;
  file->fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file->fd == -1)
    return fail (why, errno, "%s: %s", path, strerror (errno));
  r = take (path, LOCK_SH, file, why);
  if (r < 0)
    close (file->fd);
  return r;
}
