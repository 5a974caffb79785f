/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages file: raw 4096-byte pages that writes send and verify expects.
 *
 * What belongs at device offset OFF is the file's bytes from OFF modulo its
 * length on, so the data of any request is known from its offset alone and
 * verify needs no memory of what was written.  The file is mapped several
 * times over, end to start, so that a request which runs over the end of the
 * file is still one contiguous piece of memory and nothing is copied.
 */

#ifndef BENCH_PAGES_H
#define BENCH_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct pages {
  const uint8_t *data; /* len bytes, and at least max_request more */
  uint64_t len;        /* of the file, whole pages */
  size_t mapped_len;
};

/* Map the file PATH, for requests of up to MAX_REQUEST bytes.  The file must
 * not shrink while it is mapped.  0, or -errno: what open and mmap say, and
 * -EINVAL when it is empty or not whole pages; P is then unchanged.
 */
int pages_open (struct pages *p, const char *path, size_t max_request);

void pages_close (struct pages *p);

/* What belongs at OFFSET of the device: max_request bytes. */
static inline const uint8_t *
pages_at (const struct pages *p, uint64_t offset)
{
  return p->data + offset % p->len;
}

#endif /* BENCH_PAGES_H */
