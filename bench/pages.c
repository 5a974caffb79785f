/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages file, mapped end to start; see pages.h. */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"
#include "zspage-page.h"

/* Map the LEN bytes of FD over and over until TOTAL bytes at BASE are. */
static int
map_copies (int fd, uint8_t *base, size_t len, size_t total)
{
  for (size_t done = 0; done < total; done += len) {
    size_t n = total - done < len ? total - done : len;

    if (mmap (base + done, n, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
              fd, 0) == MAP_FAILED)
      return -errno;
  }
  return 0;
}

static int
map_file (struct pages *p, int fd, size_t max_request)
{
  struct stat st;
  size_t len, total;
  void *base;
  int r;

  if (fstat (fd, &st) == -1)
    return -errno;
  if (st.st_size <= 0 || st.st_size % ZSPAGE_PAGE_SIZE != 0)
    return -EINVAL;
  if (__builtin_add_overflow (st.st_size, 0, &len) ||
      __builtin_add_overflow (len, max_request, &total))
    return -EFBIG;

  base = mmap (NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return -errno;
  r = map_copies (fd, base, len, total);
  if (r < 0) {
    munmap (base, total);
    return r;
  }
  p->data = base;
  p->len = len;
  p->mapped_len = total;
  return 0;
}

int
pages_open (struct pages *p, const char *path, size_t max_request)
{
  int fd, r;

  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd == -1)
    return -errno;
  r = map_file (p, fd, max_request);
  close (fd);
  return r;
}

void
pages_close (struct pages *p)
{
  munmap ((void *) p->data, p->mapped_len);
  p->data = NULL;
}
