/* SPDX-License-Identifier: BSD-3-Clause */
/* How much more memory this process may take before it would be killed.
 *
 * A memory cgroup does not refuse memory, it kills; so its limit is asked
 * before memory is taken.  Version 1 and 2, and the limits of all the groups
 * above (Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
 */
#ifndef HEADROOM_H
#define HEADROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct headroom;

/* Find the groups of this process.  root is put before /proc/self/cgroup,
 * /proc/self/mountinfo and the mount points that are in it, "" in earnest.
 * Finding none is no error: nothing is refused then.  -ENOMEM.
 */
int headroom_create (const char *root, struct headroom **headroom);
void headroom_destroy (struct headroom *headroom);

/* Whether bytes more may be taken.  Any thread; takes a lock of rank HEADROOM,
 * and reads files, once every so many bytes or milliseconds.
 */
bool headroom_take (struct headroom *headroom, size_t bytes);

/* Bytes that may be taken now, by a fresh look; UINT64_MAX: no limit.  What is
 * left to the rest of the process is not among them.
 */
uint64_t headroom_left (struct headroom *headroom);

#endif /* HEADROOM_H */
