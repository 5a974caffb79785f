/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of which a dictionary makes something, and one of these. */
#ifndef DICTIONARY_PAGES_H
#define DICTIONARY_PAGES_H

#include "dictionary.h"
#include "helpers.h"

/* Records of one shape with much that is different: each page by itself has
 * little to repeat, but all those of one family have the same long names.
 */
void page_of_records (struct rng *rng, unsigned family, void *page);

/* A dictionary of pages of that family, digested for a level. */
struct dictionary *dictionary_of_records (unsigned family, int level);

#endif /* DICTIONARY_PAGES_H */
