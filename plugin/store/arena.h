/* SPDX-License-Identifier: BSD-3-Clause */
/* One sparse shared mapping: the memory of a device.
 *
 * Nothing in it may be touched before it was populated: where the kernel has
 * no memory, touching is SIGBUS, while populating is an error.  Reading a hole
 * allocates it, so that holes are not read either.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "headroom.h"

/* Headers may be older than Linux 5.14. */
#if !HAVE_DECL_MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* The system calls, so that tests can make them fail.  As in libc. */
struct arena_ops {
  int (*madvise) (void *addr, size_t len, int advice);
  int (*fallocate) (int fd, int mode, off_t offset, off_t len);
};
extern const struct arena_ops arena_libc_ops;

struct arena {
  int fd;
  bool is_private; /* what is written stays in this process */
  uint8_t *base;
  size_t bytes; /* of address space */
  const struct arena_ops *ops;
  struct headroom *headroom; /* asked before memory is taken; NULL = none */
};

/* Map a file, which is of this size and is the arena's then; or, if fd is -1, a
 * memfd of this size, all holes.  is_private: of the file as it is, which must
 * not be open for writing; nothing is released.  name appears in
 * /proc/PID/maps.  Not in core dumps.  is_locked: new mappings are locked
 * (mlockall (MCL_FUTURE)), which this one is only where it is touched.
 * -ENOMEM: no address space.  -ENOTSUP: the machine's pages are not 4096 bytes.
 * -errno of memfd_create, ftruncate.
 */
int arena_create (struct arena *arena, int fd, bool is_private,
                  const char *name, size_t bytes, bool is_locked,
                  const struct arena_ops *ops, struct headroom *headroom);
void arena_destroy (struct arena *arena);

/* Give memory to whole pages; in the arena, or private memory outside it.
 * Returns 0 or -ENOMEM: the kernel refused it, or would kill for it.  Content
 * that is there stays.
 */
int arena_populate (struct arena *arena, void *addr, size_t len);

/* Make whole pages of the arena holes.  Returns 0 or -errno. */
int arena_release (struct arena *arena, void *addr, size_t len);

/* The first run of whole pages in [from, end), which are pages of the arena, that
 * have memory.  False if none has.
 */
bool arena_next_memory (const struct arena *arena, const void *from,
                        const void *end, void **start, size_t *len);

/* Whether all these pages have. */
bool arena_has_memory (const struct arena *arena, const void *addr, size_t len);

/* Map pages that have memory, all at once, which is cheaper than one by one. */
void arena_map (const struct arena *arena, void *addr, size_t len);

/* Bytes of memory that the arena has, by the kernel's account. */
uint64_t arena_resident (const struct arena *arena);

#endif /* ARENA_H */
