/* SPDX-License-Identifier: BSD-3-Clause */
/* checksum=true: a check of each page, beside its slot; zspage-format.h says of
 * what, and in which order it is written.  But for checks_are_kept, all of this is for stores that
 * keep them.
 *
 * Checks belong to their slot's stripe, and have memory where their part of the
 * slot table does.
 */
#ifndef CHECKS_H
#define CHECKS_H

#include "store-internal.h"

/* Pages of checks for a page of the slot table. */
#define CHECK_PAGES (sizeof (struct zspage_check) / sizeof (uint64_t))

static inline bool
checks_are_kept (const struct store *store)
{
  return store->checks != NULL;
}

static inline size_t
checks_pages (const struct store *store)
{
  return checks_are_kept (store) ? CHECK_PAGES : 0;
}

/* As for the table page they belong to.  Want table_lock.  -ENOMEM; -errno. */
int checks_populate_locked (struct store *store, uint64_t table_page);
int checks_release_locked (struct store *store, uint64_t table_page);

/* Of all table pages in [first, end). */
void checks_release_run (struct store *store, uint64_t first, uint64_t end);

/* Around publishing a word that is not what the slot has now: its object, if it
 * has one, is there.
 */
void checks_begin_locked (struct store *store, uint64_t idx, uint64_t word);
void checks_end_locked (struct store *store, uint64_t idx);

/* Whether the word that a slot has, and the data of its object, are what was
 * published; data: NULL if it has none.
 */
bool checks_are_right_locked (const struct store *store, uint64_t idx,
                              uint64_t word, const void *data);

/* Recovery: what a kill left half done becomes whole.  The object can be read.
 * False: the word is not what was published, as far as that can be told without
 * looking at more objects than those of which it is not clear.
 */
bool checks_recover_locked (struct store *store, uint64_t idx, uint64_t word);

/* Recovery gave the slot up. */
void checks_forget_locked (struct store *store, uint64_t idx);

#endif /* CHECKS_H */
