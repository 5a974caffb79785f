/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client has open, and nbdkit's callbacks on it.  See
 * nbdkit-plugin(3) for their contracts.
 */
#ifndef IO_H
#define IO_H

#include <stdint.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

void *zspage_open (int readonly);
void zspage_close (void *handle);
int64_t zspage_get_size (void *handle);
const char *zspage_export_description (void *handle);
int zspage_block_size (void *handle, uint32_t *minimum, uint32_t *preferred,
                       uint32_t *maximum);
int zspage_can_write (void *handle);
int zspage_can_flush (void *handle);
int zspage_can_trim (void *handle);
int zspage_can_zero (void *handle);
int zspage_can_fast_zero (void *handle);
int zspage_can_fua (void *handle);
int zspage_can_cache (void *handle);
int zspage_can_extents (void *handle);
int zspage_can_multi_conn (void *handle);
int zspage_is_rotational (void *handle);
int zspage_pread (void *handle, void *buf, uint32_t count, uint64_t offset,
                  uint32_t flags);
int zspage_pwrite (void *handle, const void *buf, uint32_t count,
                   uint64_t offset, uint32_t flags);
int zspage_flush (void *handle, uint32_t flags);
int zspage_trim (void *handle, uint32_t count, uint64_t offset, uint32_t flags);
int zspage_zero (void *handle, uint32_t count, uint64_t offset, uint32_t flags);
int zspage_extents (void *handle, uint32_t count, uint64_t offset,
                    uint32_t flags, struct nbdkit_extents *extents);

#endif /* IO_H */
