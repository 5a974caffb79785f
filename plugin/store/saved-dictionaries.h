/* SPDX-License-Identifier: BSD-3-Clause */
/* Dictionaries in the state file, so that pages which need them outlive the
 * process.  Of a store without such a file these do nothing.  All want
 * recompress_lock, but for the loading, which is of recovery.
 */
#ifndef SAVED_DICTIONARIES_H
#define SAVED_DICTIONARIES_H

#include "store-internal.h"

/* Before any page can need it.  -ENOMEM: there is no memory for it. */
int saved_dictionary_put (struct store *store, unsigned generation,
                          const struct dictionary *dictionary);

/* Once no page needs it. */
void saved_dictionary_forget (struct store *store, unsigned generation);

/* That generation is current now. */
void saved_generation_set (struct store *store, unsigned generation);

/* Load those that are there, and undamaged; what else has memory goes.
 * -ENOMEM.
 */
int saved_dictionaries_load (struct store *store);

#endif /* SAVED_DICTIONARIES_H */
