/* SPDX-License-Identifier: BSD-3-Clause */
/* algorithm_params=dict=FILE: a dictionary that somebody made before. */
#ifndef DICTIONARY_FILE_H
#define DICTIONARY_FILE_H

#include "store.h"

/* Read the file, and have the store compress with it.  0, or -1 after
 * nbdkit_error, which says what is wrong with it.
 */
int dictionary_file_load (const char *path, const char *device,
                          struct store *store);

#endif /* DICTIONARY_FILE_H */
