/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a pool again from data and chunk records that another one left, whose
 * end may have been sudden.
 *
 *   zs_recover_begin -> zs_recover_claim for each reference that there is
 *     -> if some object was claimed twice: zs_recover_again, and
 *        zs_recover_claim_again for each of them
 *     -> zs_recover_end
 *
 * What nobody claims is free.  The pool is new, and nobody else uses it until
 * the end.  The records and the data are trusted in nothing.
 */
#ifndef ZSPOOL_RECOVER_H
#define ZSPOOL_RECOVER_H

#include "zspool.h"

struct zs_recovery;

/* The pool's os has next_memory.  -ENOMEM; -ENOBUFS: there are no descriptors
 * left.
 */
int zs_recover_begin (struct zs_pool *pool, struct zs_recovery **recovery);

/* Whether there can be an object of len bytes at ref, whoever its owner is; then
 * it can be read.
 */
bool zs_recover_is_possible (const struct zs_recovery *recovery, zs_ref ref,
                             size_t len);

/* A slot refers to ref, for an object of len bytes of this owner.  Any number of
 * threads.  Touches no data.  -EUCLEAN: there can be no such object there.
 */
int zs_recover_claim (struct zs_recovery *recovery, zs_ref ref, size_t len,
                      uint32_t owner);

/* Whether some object was claimed twice: if so all claims that are near one are
 * forgotten.
 */
bool zs_recover_again (struct zs_recovery *recovery);

/* For each reference whose claim was good: the same once more, looking, where it
 * is in doubt, whom the object itself says that it belongs to.  Threads and
 * errors as of zs_recover_claim.
 */
int zs_recover_claim_again (struct zs_recovery *recovery, zs_ref ref,
                            size_t len, uint32_t owner);

/* Make the pool's lists and figures, and give back the memory of what nobody
 * claimed: *nr_freed pages.  The pool's limit does not count.  The recovery is
 * over.  -ENOMEM: the pool is not usable.
 */
int zs_recover_end (struct zs_recovery *recovery, size_t *nr_freed);

/* Free a recovery that is not ended. */
void zs_recover_abandon (struct zs_recovery *recovery);

#endif /* ZSPOOL_RECOVER_H */
