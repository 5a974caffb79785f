/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the reading of another process's memory, page by page.
 *
 * The pages wanted are those the kernel would swap out: resident and
 * anonymous, which includes the written pages of private file mappings.
 * Three sources say which they are:
 *
 *   /proc/PID/maps     where memory may be; shared mappings hold no anonymous
 *                      page, and those without read permission are passed
 *                      over unseen, as they are often terabytes reserved
 *   /proc/PID/pagemap  one word a page: present, swapped, file or shared
 *   the page itself    memory that was read but never written is mapped to a
 *                      page of zeros the kernel shares among all, which is
 *                      never swapped; it looks anonymous in pagemap, but is
 *                      all zeros and not exclusively mapped
 *
 * Swapped pages are left alone, because reading them would bring them back.
 * The process is neither stopped nor traced: what vanishes between the look
 * and the read is counted and skipped.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture.h"
#include "page.h"

/* From Documentation/admin-guide/mm/pagemap.rst. */
#define PM_EXCLUSIVE (UINT64_C (1) << 56)
#define PM_FILE      (UINT64_C (1) << 61)
#define PM_SWAP      (UINT64_C (1) << 62)
#define PM_PRESENT   (UINT64_C (1) << 63)

/* Pages a process_vm_readv call; no more than IOV_MAX. */
#define BATCH_PAGES 512

/* Words a read of pagemap: 1 GiB of address space. */
#define BATCH_ENTRIES (256 * 1024)

struct capture {
  pid_t pid;
  int pagemap_fd;
  uint64_t nr_left; /* pages still wanted */
  ctl_capture_fn *fn;
  void *opaque;
  struct ctl_capture_counts *counts;
  char *msg;

  uint64_t entries[BATCH_ENTRIES];

  /* Pages found in pagemap and not read yet.  Each has an iovec of its own,
   * so that a short count says exactly which page could not be read.
   */
  size_t nr_queued;
  struct iovec remote[BATCH_PAGES];
  bool exclusive[BATCH_PAGES];
  unsigned char pages[BATCH_PAGES * ZSPAGE_PAGE_SIZE];
};

static int fail (struct capture *c, int err, const char *fs, ...)
  __attribute__ ((format (printf, 3, 4)));

static int
fail (struct capture *c, int err, const char *fs, ...)
{
  va_list args;
  int n;

  n = snprintf (c->msg, CTL_CAPTURE_MSG_LEN, "process %ld: ", (long) c->pid);
  va_start (args, fs);
  vsnprintf (c->msg + n, CTL_CAPTURE_MSG_LEN - n, fs, args);
  va_end (args);
  return err;
}

/* Yama is one of the reasons for EPERM, and the one that surprises the owner
 * of a process.  Returns -1 where there is no Yama.
 */
static int
ptrace_scope (void)
{
  FILE *fp;
  int scope = -1;

  fp = fopen ("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (fp == NULL)
    return -1;
  if (fscanf (fp, "%d", &scope) != 1)
    scope = -1;
  fclose (fp);
  return scope;
}

static int
explain (struct capture *c, const char *what, int errnum)
{
  int scope;

  switch (errnum) {
  case ENOENT:
    return fail (c, -ESRCH, "no such process");
  case ESRCH:
    return fail (c, -ESRCH,
                 "it has no memory: it is a kernel thread, or has "
                 "just ended");
  case EACCES:
  case EPERM:
    scope = ptrace_scope ();
    if (scope == 3)
      return fail (c, -errnum,
                   "%s: %s; kernel.yama.ptrace_scope is 3, so nobody may "
                   "read another process until the next boot",
                   what, strerror (errnum));
    if (scope > 0 && geteuid () != 0)
      return fail (c, -errnum,
                   "%s: %s; kernel.yama.ptrace_scope is %d, so only root may "
                   "read a process it did not start: run this as root%s",
                   what, strerror (errnum), scope,
                   scope == 1 ? ", or set the sysctl to 0" : "");
    if (geteuid () != 0)
      return fail (c, -errnum,
                   "%s: %s; it belongs to another user or has privileges of "
                   "its own: run this as root",
                   what, strerror (errnum));
    return fail (c, -errnum,
                 "%s: %s; even root needs CAP_SYS_PTRACE for this, which "
                 "containers drop by default",
                 what, strerror (errnum));
  case ENOSYS:
    return fail (c, -ENOSYS,
                 "%s: this kernel was built without CONFIG_CROSS_MEMORY_ATTACH"
                 " or a seccomp filter hides it",
                 what);
  default:
    return fail (c, -errnum, "%s: %s", what, strerror (errnum));
  }
}

/* Of nr pages just read to the end of the nr_kept already good ones, keep
 * those that are not the kernel's page of zeros.  exclusive is of the first
 * of them.  Returns the new nr_kept.
 */
static size_t
keep_touched (struct capture *c, size_t nr_kept, size_t nr,
              const bool *exclusive)
{
  const unsigned char *from = &c->pages[nr_kept * ZSPAGE_PAGE_SIZE];
  unsigned char *to = &c->pages[nr_kept * ZSPAGE_PAGE_SIZE];
  size_t i;

  for (i = 0; i < nr; i++, from += ZSPAGE_PAGE_SIZE) {
    if (!exclusive[i] && ctl_page_is_zero (from)) {
      c->counts->nr_untouched++;
      continue;
    }
    if (to != from)
      memcpy (to, from, ZSPAGE_PAGE_SIZE);
    to += ZSPAGE_PAGE_SIZE;
    nr_kept++;
  }
  return nr_kept;
}

/* Read the queued pages and hand them over.  The queue is empty after it. */
static int
flush_queue (struct capture *c)
{
  const size_t nr_queued = c->nr_queued;
  size_t i = 0, nr, nr_kept = 0;
  struct iovec local;
  ssize_t n;
  int r;

  c->nr_queued = 0;
  while (i < nr_queued) {
    local.iov_base = &c->pages[nr_kept * ZSPAGE_PAGE_SIZE];
    local.iov_len = (nr_queued - i) * ZSPAGE_PAGE_SIZE;
    n = process_vm_readv (c->pid, &local, 1, &c->remote[i], nr_queued - i, 0);
    if (n == -1 && errno != EFAULT)
      return explain (c, "process_vm_readv", errno);

    nr = n > 0 ? (size_t) n / ZSPAGE_PAGE_SIZE : 0;
    nr_kept = keep_touched (c, nr_kept, nr, &c->exclusive[i]);
    i += nr;
    if (i < nr_queued) {
      c->counts->nr_unreadable++;
      i++;
    }
  }
  if (nr_kept == 0)
    return 0;

  r = c->fn (c->opaque, c->pages, nr_kept);
  if (r < 0)
    return r;
  c->counts->nr_captured += nr_kept;
  c->nr_left -= nr_kept;
  return 0;
}

/* Queue what one batch of pagemap words, of the pages from addr on, points
 * to.
 */
static int
queue_entries (struct capture *c, uint64_t addr, size_t nr_entries)
{
  size_t i;
  int r;

  for (i = 0; i < nr_entries && c->nr_left > 0; i++, addr += ZSPAGE_PAGE_SIZE) {
    const uint64_t entry = c->entries[i];

    if (entry & PM_SWAP)
      c->counts->nr_swapped++;
    if ((entry & (PM_PRESENT | PM_FILE)) != PM_PRESENT)
      continue;

    c->remote[c->nr_queued].iov_base = (void *) (uintptr_t) addr;
    c->remote[c->nr_queued].iov_len = ZSPAGE_PAGE_SIZE;
    c->exclusive[c->nr_queued] = (entry & PM_EXCLUSIVE) != 0;
    c->nr_queued++;
    if (c->nr_queued == BATCH_PAGES || c->nr_queued == c->nr_left) {
      r = flush_queue (c);
      if (r < 0)
        return r;
    }
  }
  return 0;
}

static int
capture_mapping (struct capture *c, uint64_t start, uint64_t end)
{
  while (start < end && c->nr_left > 0) {
    size_t nr = (end - start) / ZSPAGE_PAGE_SIZE;
    ssize_t n;
    int r;

    if (nr > BATCH_ENTRIES)
      nr = BATCH_ENTRIES;
    n = pread (c->pagemap_fd, c->entries, nr * sizeof c->entries[0],
               start / ZSPAGE_PAGE_SIZE * sizeof c->entries[0]);
    if (n == -1)
      return explain (c, "read of its pagemap", errno);
    /* The mapping or the whole process is gone. */
    nr = (size_t) n / sizeof c->entries[0];
    if (nr == 0)
      return 0;

    r = queue_entries (c, start, nr);
    if (r < 0)
      return r;
    start += nr * ZSPAGE_PAGE_SIZE;
  }
  return 0;
}

/* The kernel's own windows into each process: never swapped, and vvar cannot
 * be read.
 */
static bool
is_special (const char *name)
{
  return strncmp (name, "[vvar", 5) == 0 || strncmp (name, "[vdso", 5) == 0 ||
         strncmp (name, "[vsyscall", 9) == 0;
}

static int
capture_mappings (struct capture *c, FILE *maps)
{
  char *line = NULL;
  size_t line_len = 0;
  int r = 0;

  while (r == 0 && c->nr_left > 0) {
    uint64_t start, end;
    char perms[5];
    int name = 0;

    errno = 0;
    if (getline (&line, &line_len, maps) == -1) {
      if (errno != 0)
        r = explain (c, "read of its maps", errno);
      break;
    }
    if (sscanf (line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &start,
                &end, perms, &name) != 3 ||
        name == 0) {
      r = fail (c, -EIO, "cannot understand its maps: %s", line);
      break;
    }
    if (perms[0] == 'r' && perms[3] != 's' && !is_special (line + name))
      r = capture_mapping (c, start, end);
  }
  free (line);

  return r < 0 ? r : flush_queue (c);
}

static FILE *
open_maps (struct capture *c)
{
  char path[64];
  FILE *maps;

  snprintf (path, sizeof path, "/proc/%ld/pagemap", (long) c->pid);
  c->pagemap_fd = open (path, O_RDONLY | O_CLOEXEC);
  if (c->pagemap_fd == -1)
    return NULL;
  snprintf (path, sizeof path, "/proc/%ld/maps", (long) c->pid);
  maps = fopen (path, "re");
  if (maps == NULL) {
    const int err = errno;

    close (c->pagemap_fd);
    errno = err;
  }
  return maps;
}

int
ctl_capture_process (pid_t pid, uint64_t max_pages, ctl_capture_fn *fn,
                     void *opaque, struct ctl_capture_counts *counts,
                     char msg[CTL_CAPTURE_MSG_LEN])
{
  const uint64_t nr_before = counts->nr_captured;
  struct ctl_capture_counts mine = {0};
  struct capture *c;
  FILE *maps;
  int r;

  msg[0] = '\0';
  c = malloc (sizeof *c);
  if (c == NULL) {
    snprintf (msg, CTL_CAPTURE_MSG_LEN, "%s", strerror (ENOMEM));
    return -ENOMEM;
  }
  c->pid = pid;
  c->nr_left = max_pages > 0 ? max_pages : UINT64_MAX;
  c->fn = fn;
  c->opaque = opaque;
  c->counts = &mine;
  c->msg = msg;
  c->nr_queued = 0;

  if (sysconf (_SC_PAGESIZE) != ZSPAGE_PAGE_SIZE) {
    r = fail (c, -ENOTSUP, "this machine's pages are of %ld bytes, not %u",
              sysconf (_SC_PAGESIZE), ZSPAGE_PAGE_SIZE);
    goto out;
  }
  maps = open_maps (c);
  if (maps == NULL) {
    r = explain (c, "opening its maps and pagemap in /proc", errno);
    goto out;
  }
  r = capture_mappings (c, maps);
  fclose (maps);
  close (c->pagemap_fd);

out:
  free (c);
  counts->nr_captured = nr_before + mine.nr_captured;
  counts->nr_swapped += mine.nr_swapped;
  counts->nr_unreadable += mine.nr_unreadable;
  counts->nr_untouched += mine.nr_untouched;
  return r;
}
