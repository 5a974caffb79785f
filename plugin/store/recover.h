/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: from what a state file has to a store that serves it. */
#ifndef RECOVER_H
#define RECOVER_H

#include "store-internal.h"

/* Make a store, that was just made round a file which is not new, agree with it.
 * The slot table is the truth: each word is checked, and what cannot be trusted
 * becomes SLOT_LOST; the allocator is made again from what is left; what nobody
 * refers to is freed.  In threads, one a processor.  On an error the file can be
 * tried again: -ENOMEM; -ENOBUFS: there are no descriptors left;
 * -EOPNOTSUPP: the file system does not say where a file has data.
 */
int store_recover (struct store *store, const struct store_config *config);

#endif /* RECOVER_H */
