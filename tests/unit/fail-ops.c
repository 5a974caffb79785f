/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that fail on demand; see fail-ops.h. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>

#include "fail-ops.h"
#include "helpers.h"

struct fail_ops fail_ops;

void
fail_ops_reset (void)
{
  fail_ops.failed = 0;
  fail_ops.fail_from = fail_ops.fail_count = fail_ops.fail_one_in = 0;
  fail_ops.fail_releases = fail_ops.old_kernel = false;
  fail_ops.on_populate = NULL;
  fail_ops.populates = fail_ops.fallbacks = fail_ops.releases = 0;
}

void
fail_ops_no_memory (void)
{
  fail_ops.fail_count = LONG_MAX;
  fail_ops.fail_from = 1;
}

/* Call number n, of those to populate. */
static bool
is_to_fail (long n)
{
  long from = fail_ops.fail_from, one_in = fail_ops.fail_one_in;

  if (from > 0 && n >= from && n - from < fail_ops.fail_count)
    return true;
  if (one_in > 0) {
    static _Atomic uint64_t calls;
    struct rng rng = rng_make (1000 + calls++);

    return rng_one_in (&rng, one_in);
  }
  return false;
}

static bool
must_fail (long n)
{
  bool fail = is_to_fail (n);

  fail_ops.failed += fail;
  return fail;
}

static int
ops_madvise (void *addr, size_t len, int advice)
{
  if (fail_ops.on_populate)
    fail_ops.on_populate ();
  if (fail_ops.old_kernel) {
    errno = EINVAL;
    return -1;
  }
  if (must_fail (++fail_ops.populates)) {
    len = len / 2 / ZSPAGE_PAGE_SIZE * ZSPAGE_PAGE_SIZE;
    if (len > 0)
      madvise (addr, len, advice);
    errno = ENOMEM;
    return -1;
  }
  return madvise (addr, len, advice);
}

static int
ops_fallocate (int fd, int mode, off_t offset, off_t len)
{
  if (mode & FALLOC_FL_PUNCH_HOLE) {
    ++fail_ops.releases;
    if (fail_ops.fail_releases) {
      errno = ENOMEM;
      return -1;
    }
  }
  else {
    ++fail_ops.fallbacks;
    if (must_fail (++fail_ops.populates)) {
      errno = ENOSPC;
      return -1;
    }
  }
  return fallocate (fd, mode, offset, len);
}

const struct arena_ops fail_arena_ops = {
  .madvise = ops_madvise,
  .fallocate = ops_fallocate,
};
