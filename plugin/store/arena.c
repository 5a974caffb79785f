/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared mapping of a device; see arena.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "zspage-page.h"

const struct arena_ops arena_libc_ops = {
  .madvise = madvise,
  .fallocate = fallocate,
};

/* -errno */
static int
memory_file (const char *name, size_t bytes)
{
  int fd = memfd_create (name, MFD_CLOEXEC), err;

  if (fd == -1)
    return -errno;
  if (ftruncate (fd, bytes) == -1) {
    err = errno;
    close (fd);
    return -err;
  }
  return fd;
}

int
arena_create (struct arena *arena, int fd, bool is_private, const char *name,
              size_t bytes, bool is_locked, const struct arena_ops *ops,
              struct headroom *headroom)
{
  const int prot = PROT_READ | PROT_WRITE;
  int err;

  arena->fd = fd;
  if (sysconf (_SC_PAGESIZE) != ZSPAGE_PAGE_SIZE) {
    if (fd >= 0)
      close (fd);
    return -ENOTSUP;
  }
  arena->is_private = is_private;
  arena->ops = ops;
  arena->headroom = headroom;
  arena->bytes = bytes;
  if (fd == -1)
    arena->fd = memory_file (name, bytes);
  if (arena->fd < 0)
    return arena->fd;
  /* What is mapped without access is not populated, though it is locked. */
  arena->base = mmap (NULL, bytes, is_locked ? PROT_NONE : prot,
                      (is_private ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE,
                      arena->fd, 0);
  if (arena->base == MAP_FAILED) {
    err = errno;
    close (arena->fd);
    return -err;
  }
  if (is_locked && mprotect (arena->base, bytes, prot) == -1) {
    err = errno;
    arena_destroy (arena);
    return -err;
  }
  /* Clients' memory has no place in core dumps. */
  madvise (arena->base, bytes, MADV_DONTDUMP);
  return 0;
}

void
arena_destroy (struct arena *arena)
{
  munmap (arena->base, arena->bytes);
  close (arena->fd);
}

static bool
is_inside (const struct arena *arena, const uint8_t *addr)
{
  return addr >= arena->base && addr < arena->base + arena->bytes;
}

int
arena_populate (struct arena *arena, void *addr, size_t len)
{
  int r;

  if (arena->headroom && !headroom_take (arena->headroom, len))
    return -ENOMEM;
  do
    r = arena->ops->madvise (addr, len, MADV_POPULATE_WRITE);
  while (r == -1 && (errno == EINTR || errno == EAGAIN));
  if (r == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -ENOMEM;

  /* Before Linux 5.14.  Pages of the file can be had otherwise; private
   * memory has to be trusted.
   */
  if (!is_inside (arena, addr) || arena->is_private)
    return 0;
  do
    r = arena->ops->fallocate (arena->fd, FALLOC_FL_KEEP_SIZE,
                               (uint8_t *) addr - arena->base, len);
  while (r == -1 && errno == EINTR);
  return r == 0 ? 0 : -ENOMEM;
}

int
arena_release (struct arena *arena, void *addr, size_t len)
{
  int r;

  if (arena->is_private)
    return 0;
  do
    r = arena->ops->fallocate (arena->fd,
                               FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               (uint8_t *) addr - arena->base, len);
  while (r == -1 && errno == EINTR);
  return r == 0 ? 0 : -errno;
}

bool
arena_next_memory (const struct arena *arena, const void *from, const void *end,
                   void **start, size_t *len)
{
  off_t at = (const uint8_t *) from - arena->base;
  off_t last = (const uint8_t *) end - arena->base;
  off_t hole;

  last = zspage_align_up (last, ZSPAGE_PAGE_SIZE);
  if (at >= last)
    return false;
  at = lseek (arena->fd, at, SEEK_DATA);
  if (at == -1 || at >= last)
    return false;
  hole = lseek (arena->fd, at, SEEK_HOLE);
  if (hole == -1 || hole > last)
    hole = last;
  /* Blocks of a disk's file system may be smaller. */
  at &= ~(off_t) ZSPAGE_PAGE_MASK;
  hole = zspage_align_up (hole, ZSPAGE_PAGE_SIZE);
  *start = arena->base + at;
  *len = hole - at;
  return true;
}

bool
arena_has_memory (const struct arena *arena, const void *addr, size_t len)
{
  const uint8_t *a = addr;
  size_t run;
  void *start;

  return arena_next_memory (arena, a, a + len, &start, &run) && start == a &&
         run >= len;
}

void
arena_map (const struct arena *arena, void *addr, size_t len)
{
  (void) arena;
  madvise (addr, len, MADV_POPULATE_READ);
}

uint64_t
arena_resident (const struct arena *arena)
{
  struct stat st;

  if (fstat (arena->fd, &st) == -1)
    return 0;
  return (uint64_t) st.st_blocks * 512;
}
