/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the choice of pages.
 *
 * How many pages a process has turns out only as they come, so each new one
 * takes the place of a random one with the probability that keeps all chances
 * equal (Vitter's algorithm R).
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"
#include "zspage-page.h"

#define SENSIBLE_PAGES 65536

static int fail (struct ctl_sample *s, int err, const char *fs, ...)
  __attribute__ ((format (printf, 3, 4)));

static int
fail (struct ctl_sample *s, int err, const char *fs, ...)
{
  va_list args;

  va_start (args, fs);
  vsnprintf (s->msg, sizeof s->msg, fs, args);
  va_end (args);
  return err;
}

size_t
ctl_sample_sensible_pages (void)
{
  FILE *fp = fopen ("/proc/meminfo", "re");
  size_t pages = SENSIBLE_PAGES;
  char line[256];
  uint64_t kib;

  while (fp != NULL && fgets (line, sizeof line, fp) != NULL) {
    if (sscanf (line, "MemAvailable: %" SCNu64, &kib) == 1 &&
        kib * 1024 / ZSPAGE_PAGE_SIZE / 4 < pages)
      pages = (size_t) (kib * 1024 / ZSPAGE_PAGE_SIZE / 4);
  }
  if (fp != NULL)
    fclose (fp);
  return pages > 0 ? pages : 1;
}

static int
init (struct ctl_sample *s, size_t max_pages)
{
  memset (s, 0, sizeof *s);
  s->max_pages = max_pages;
  s->random = UINT64_C (0x9e3779b97f4a7c15);
  if (max_pages > SIZE_MAX / 2 / ZSPAGE_PAGE_SIZE)
    return fail (s, -ENOMEM, "%zu pages: %s", max_pages, strerror (ENOMEM));
  s->pages = mmap (NULL, max_pages * ZSPAGE_PAGE_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (s->pages == MAP_FAILED)
    return fail (s, -ENOMEM, "%zu pages: %s", max_pages, strerror (ENOMEM));
  return 0;
}

void
ctl_sample_fini (struct ctl_sample *s)
{
  munmap (s->pages, s->max_pages * ZSPAGE_PAGE_SIZE);
}

static unsigned char *
page_at (const struct ctl_sample *s, size_t i)
{
  return s->pages + i * ZSPAGE_PAGE_SIZE;
}

/* Marsaglia's xorshift: good enough to be fair. */
static uint64_t
next_random (struct ctl_sample *s)
{
  s->random ^= s->random << 13;
  s->random ^= s->random >> 7;
  s->random ^= s->random << 17;
  return s->random;
}

static int
take_pages (void *opaque, const unsigned char *pages, size_t nr_pages)
{
  struct ctl_sample *s = opaque;

  for (; nr_pages > 0; nr_pages--, pages += ZSPAGE_PAGE_SIZE) {
    uint64_t i = s->nr_all++;

    if (i >= s->max_pages)
      i = next_random (s) % s->nr_all;
    else
      s->nr_pages++;
    if (i < s->max_pages)
      memcpy (page_at (s, (size_t) i), pages, ZSPAGE_PAGE_SIZE);
  }
  return 0;
}

int
ctl_sample_process (struct ctl_sample *s, pid_t pid, size_t max_pages)
{
  struct ctl_capture_counts counts = {0};
  int r;

  r = init (s, max_pages);
  if (r < 0)
    return r;
  r = ctl_capture_process (pid, 0, take_pages, s, &counts, s->msg);
  if (r == 0 && s->nr_pages == 0)
    r = fail (s, -ENODATA,
              "process %ld has no pages in memory that could be swapped out",
              (long) pid);
  if (r < 0)
    ctl_sample_fini (s);
  return r;
}

static int
read_page (struct ctl_sample *s, int fd, uint64_t offset, unsigned char *page)
{
  size_t done = 0;
  ssize_t n;

  while (done < ZSPAGE_PAGE_SIZE) {
    n =
      pread (fd, page + done, ZSPAGE_PAGE_SIZE - done, (off_t) (offset + done));
    if (n == -1 && errno == EINTR)
      continue;
    if (n == -1)
      return fail (s, -errno, "%s", strerror (errno));
    if (n == 0)
      return fail (s, -EIO, "became shorter while it was read");
    done += (size_t) n;
  }
  return 0;
}

static int
read_pages (struct ctl_sample *s, int fd)
{
  uint64_t i, step, rest; /* page i * nr_all / nr_pages, without overflow */
  struct stat st;
  int r = 0;

  if (fstat (fd, &st) == -1)
    return fail (s, -errno, "%s", strerror (errno));
  if (!S_ISREG (st.st_mode))
    return fail (s, -EINVAL, "not a regular file");
  s->nr_all = (uint64_t) st.st_size / ZSPAGE_PAGE_SIZE;
  if (s->nr_all == 0)
    return fail (s, -ENODATA, "has not even one page of %u bytes",
                 ZSPAGE_PAGE_SIZE);
  s->nr_pages = s->nr_all < s->max_pages ? (size_t) s->nr_all : s->max_pages;
  step = s->nr_all / s->nr_pages;
  rest = s->nr_all % s->nr_pages;
  for (i = 0; i < s->nr_pages && r == 0; i++)
    r =
      read_page (s, fd, (i * step + i * rest / s->nr_pages) * ZSPAGE_PAGE_SIZE,
                 page_at (s, (size_t) i));
  return r;
}

int
ctl_sample_file (struct ctl_sample *s, const char *path, size_t max_pages)
{
  char why[CTL_CAPTURE_MSG_LEN];
  int fd, r;

  r = init (s, max_pages);
  if (r < 0)
    return r;
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd == -1)
    r = fail (s, -errno, "%s", strerror (errno));
  else {
    r = read_pages (s, fd);
    close (fd);
  }
  if (r < 0) {
    memcpy (why, s->msg, sizeof why);
    fail (s, r, "%s: %s", path, why);
    ctl_sample_fini (s);
  }
  return r;
}
