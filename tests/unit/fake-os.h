/* SPDX-License-Identifier: BSD-3-Clause */
/* An operating system for a zs_pool: knows which pages have memory, makes
 * those that have none fault, and fails when told to.
 */
#ifndef FAKE_OS_H
#define FAKE_OS_H

#include "zspool.h"

struct fake_os {
  uint8_t *data;
  struct zspage_chunk_record *records;
  uint32_t nr_chunks;
  size_t records_bytes;

  bool *has_memory; /* [pages of data] */
  size_t populated; /* how many have */
  size_t populated_max;

  size_t populate_calls, release_calls, released_pages;
  size_t fail_populate_at; /* this call and those after it; 0 = none */
  bool fail_release;
  const char *misuse; /* what the pool did wrong, or NULL */
};

void fake_os_init (struct fake_os *os, uint32_t nr_chunks);
void fake_os_fini (struct fake_os *os);

/* Calls from now on are numbered from 1 again. */
void fake_os_fail_populate_at (struct fake_os *os, size_t n);

struct zs_os fake_os_hooks (struct fake_os *os);

#endif /* FAKE_OS_H */
