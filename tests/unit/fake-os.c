/* SPDX-License-Identifier: BSD-3-Clause */
/* An operating system for a zs_pool; see fake-os.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake-os.h"
#include "helpers.h"

static void *
reserve (size_t bytes)
{
  void *p = mmap (NULL, bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  assert_ptr_not_equal (p, MAP_FAILED);
  return p;
}

void
fake_os_init (struct fake_os *os, uint32_t nr_chunks)
{
  memset (os, 0, sizeof *os);
  os->nr_chunks = nr_chunks;
  os->data = reserve ((size_t) nr_chunks * ZSPAGE_CHUNK_SIZE);
  os->records_bytes =
    zspage_align_up (nr_chunks * sizeof *os->records, ZSPAGE_PAGE_SIZE);
  os->records = reserve (os->records_bytes);
  os->has_memory =
    calloc ((size_t) nr_chunks * ZSPAGE_CHUNK_PAGES, sizeof *os->has_memory);
  assert_non_null (os->has_memory);
}

void
fake_os_fini (struct fake_os *os)
{
  munmap (os->data, (size_t) os->nr_chunks * ZSPAGE_CHUNK_SIZE);
  munmap (os->records, os->records_bytes);
  free (os->has_memory);
}

void
fake_os_fail_populate_at (struct fake_os *os, size_t n)
{
  os->populate_calls = 0;
  os->fail_populate_at = n;
}

/* The index of a page of data; false if it is other memory. */
static bool
data_page (const struct fake_os *os, const void *addr, size_t *page)
{
  const uint8_t *p = addr;

  if (p < os->data ||
      p >= os->data + (size_t) os->nr_chunks * ZSPAGE_CHUNK_SIZE)
    return false;
  *page = (p - os->data) / ZSPAGE_PAGE_SIZE;
  return true;
}

static void
check_range (struct fake_os *os, const void *addr, size_t len)
{
  if (len == 0 || len % ZSPAGE_PAGE_SIZE != 0 ||
      (uintptr_t) addr % ZSPAGE_PAGE_SIZE != 0)
    os->misuse = "not whole pages";
}

static void
data_populate (struct fake_os *os, size_t first, size_t pages)
{
  size_t i;

  for (i = first; i < first + pages; ++i) {
    if (os->has_memory[i])
      os->misuse = "populated twice";
    os->has_memory[i] = true;
  }
  os->populated += pages;
  if (os->populated > os->populated_max)
    os->populated_max = os->populated;
}

static int
populate (void *opaque, void *addr, size_t len)
{
  struct fake_os *os = opaque;
  size_t page, pages = len / ZSPAGE_PAGE_SIZE;
  bool fail =
    os->fail_populate_at > 0 && ++os->populate_calls >= os->fail_populate_at;

  check_range (os, addr, len);
  if (fail)
    pages /= 2; /* as the kernel may */
  if (data_page (os, addr, &page))
    data_populate (os, page, pages);
  if (pages > 0 &&
      mprotect (addr, pages * ZSPAGE_PAGE_SIZE, PROT_READ | PROT_WRITE) == -1)
    os->misuse = "populate: mprotect";
  return fail ? -ENOMEM : 0;
}

static int
release (void *opaque, void *addr, size_t len)
{
  struct fake_os *os = opaque;
  size_t i, page, pages = len / ZSPAGE_PAGE_SIZE;

  os->release_calls++;
  check_range (os, addr, len);
  if (!data_page (os, addr, &page)) {
    os->misuse = "released what is not data";
    return -EINVAL;
  }
  if (os->fail_release)
    return -ENOMEM;
  for (i = page; i < page + pages; ++i) {
    os->populated -= os->has_memory[i];
    os->released_pages += os->has_memory[i];
    os->has_memory[i] = false;
  }
  if (madvise (addr, len, MADV_DONTNEED) == -1 ||
      mprotect (addr, len, PROT_NONE) == -1)
    os->misuse = "release: mprotect";
  return 0;
}

struct zs_os
fake_os_hooks (struct fake_os *os)
{
  return (struct zs_os){.opaque = os, .populate = populate, .release = release};
}
