/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating things when there is no memory: each call that could fail is made
 * to, in turn; the answer is -ENOMEM, and nothing is left behind.
 *
 * The linker gives this program its own malloc, mmap and so on (--wrap).
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers.h"
#include "store.h"

static bool armed;
static long calls, fail_at; /* 0 = never */
static long blocks, mappings, files;
static size_t mapped_bytes;

static bool
must_fail (void)
{
  return armed && ++calls == fail_at;
}

void *__real_malloc (size_t size);
void *__real_calloc (size_t n, size_t size);
int __real_posix_memalign (void **p, size_t align, size_t size);
void __real_free (void *p);
void *__real_mmap (void *addr, size_t len, int prot, int flags, int fd,
                   off_t offset);
int __real_munmap (void *addr, size_t len);
int __real_memfd_create (const char *name, unsigned flags);
int __real_ftruncate (int fd, off_t len);
int __real_close (int fd);

void *__wrap_malloc (size_t size);
void *__wrap_calloc (size_t n, size_t size);
int __wrap_posix_memalign (void **p, size_t align, size_t size);
void __wrap_free (void *p);
void *__wrap_mmap (void *addr, size_t len, int prot, int flags, int fd,
                   off_t offset);
int __wrap_munmap (void *addr, size_t len);
int __wrap_memfd_create (const char *name, unsigned flags);
int __wrap_ftruncate (int fd, off_t len);
int __wrap_close (int fd);

void *
__wrap_malloc (size_t size)
{
  if (must_fail ())
    return NULL;
  blocks += armed;
  return __real_malloc (size);
}

void *
__wrap_calloc (size_t n, size_t size)
{
  if (must_fail ())
    return NULL;
  blocks += armed;
  return __real_calloc (n, size);
}

int
__wrap_posix_memalign (void **p, size_t align, size_t size)
{
  if (must_fail ())
    return ENOMEM;
  blocks += armed;
  return __real_posix_memalign (p, align, size);
}

void
__wrap_free (void *p)
{
  blocks -= armed && p != NULL;
  __real_free (p);
}

void *
__wrap_mmap (void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
  if (must_fail ()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (armed) {
    mappings++;
    mapped_bytes += len;
  }
  return __real_mmap (addr, len, prot, flags, fd, offset);
}

int
__wrap_munmap (void *addr, size_t len)
{
  if (armed) {
    mappings--;
    mapped_bytes -= len;
  }
  return __real_munmap (addr, len);
}

int
__wrap_memfd_create (const char *name, unsigned flags)
{
  if (must_fail ()) {
    errno = ENOMEM;
    return -1;
  }
  files += armed;
  return __real_memfd_create (name, flags);
}

int
__wrap_ftruncate (int fd, off_t len)
{
  if (must_fail ()) {
    errno = ENOMEM;
    return -1;
  }
  return __real_ftruncate (fd, len);
}

int
__wrap_close (int fd)
{
  files -= armed;
  return __real_close (fd);
}

static int
relocate (void *opaque, uint32_t owner, zs_ref from, zs_ref to, const void *src,
          void *dst, size_t len)
{
  (void) opaque, (void) owner, (void) from, (void) to;
  (void) src, (void) dst, (void) len;
  return -EBUSY;
}

static int
no_memory (void *opaque, void *addr, size_t len)
{
  (void) opaque, (void) addr, (void) len;
  return -ENOMEM;
}

static int
try_pool (void)
{
  struct zs_config config = {
    .chain_size = 8,
    .nr_chunks = 8,
    .os = {.populate = no_memory, .release = no_memory},
    .relocate = relocate,
  };
  struct zs_pool *pool = NULL;
  int r = zs_pool_create (&config, &pool);

  if (r == 0)
    zs_pool_destroy (pool);
  return r;
}

static int
try_codec (enum codec_id id)
{
  struct codec_pool *pool = NULL;
  int r = codec_pool_create (id, codec_levels (id).dflt, 3, &pool);

  if (r == 0)
    codec_pool_destroy (pool);
  return r;
}

static int
try_lz4 (void)
{
  return try_codec (CODEC_LZ4);
}

static int
try_zstd (void)
{
  return try_codec (CODEC_ZSTD);
}

static struct codec_pool *codec;

static int
try_store (void)
{
  struct store_config config = {
    .name = "test", .disksize = 1 << 24, .chain_size = 8, .codec = codec};
  struct store *store = NULL;
  int r = store_create (&config, &store);

  if (r == 0)
    store_destroy (store);
  return r;
}

static void
sweep (int (*try) (void), long at_least)
{
  int r = -ENOMEM;

  for (fail_at = 1; r < 0; ++fail_at) {
    calls = blocks = mappings = files = 0;
    mapped_bytes = 0;
    armed = true;
    r = try ();
    armed = false;
    if (r < 0)
      assert_int_equal (r, -ENOMEM);
    assert_int_equal (blocks, 0);
    assert_int_equal (mappings, 0);
    assert_int_equal (mapped_bytes, 0);
    assert_int_equal (files, 0);
  }
  print_message ("%ld calls that may fail\n", calls);
  assert_int_equal (r, 0);
  assert_true (calls >= at_least);
}

static void
a_pool_without_memory_is_enomem (void **state)
{
  (void) state;
  sweep (try_pool, 4);
}

static void
codec_contexts_without_memory_are_enomem (void **state)
{
  (void) state;
  sweep (try_lz4, 2);
  sweep (try_zstd, 2);
}

static void
a_store_without_memory_is_enomem (void **state)
{
  (void) state;
  assert_int_equal (codec_pool_create (CODEC_LZ4, 1, 1, &codec), 0);
  sweep (try_store, 10);
  codec_pool_destroy (codec);
}

/* Before anything was created, as after create failed. */
static void
destroying_nothing_is_fine (void **state)
{
  (void) state;
  zs_pool_destroy (NULL);
  codec_pool_destroy (NULL);
  store_destroy (NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (a_pool_without_memory_is_enomem),
    cmocka_unit_test (codec_contexts_without_memory_are_enomem),
    cmocka_unit_test (a_store_without_memory_is_enomem),
    cmocka_unit_test (destroying_nothing_is_fine),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
