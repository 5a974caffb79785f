/* SPDX-License-Identifier: BSD-3-Clause */
/* Dictionaries for zstd: what pages of a device have in common, so that each
 * of them need not say it again.
 *
 * A dictionary is bytes, digested once for decompressing and once for each
 * level that compresses with it.  It does not change; whoever uses it sees to
 * it that it is not destroyed meanwhile.
 */
#ifndef DICTIONARY_H
#define DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a dictionary: what zstd makes or takes, and no more than is of use
 * for pages of 4096 bytes.
 */
#define DICTIONARY_MIN 256u
#define DICTIONARY_MAX (256u * 1024)

/* What training makes. */
#define DICTIONARY_TRAINED (32u * 1024)

struct dictionary;

/* Digest a copy of the bytes, in zstd's format of dictionaries, for
 * decompressing and for compressing at a level.  -EINVAL: they are not a
 * dictionary of zstd, or damaged; -EMSGSIZE: too few or too many; *why says
 * more.  -ENOMEM.
 */
int dictionary_create (const void *bytes, size_t len, int level,
                       struct dictionary **dictionary, const char **why);
void dictionary_destroy (struct dictionary *dictionary);

/* Digest it for one more level, beside that of create; forget that again.
 * While nobody compresses at that level.  -ENOMEM.
 */
int dictionary_add_level (struct dictionary *dictionary, int level);
void dictionary_drop_level (struct dictionary *dictionary);

const void *dictionary_bytes (const struct dictionary *dictionary, size_t *len);

/* zstd's ID of it, which a file of it carries. */
uint32_t dictionary_id (const struct dictionary *dictionary);

/* Memory that it takes, digests included, bytes. */
size_t dictionary_memory (const struct dictionary *dictionary);

/* Make a dictionary of what pages have in common: at most DICTIONARY_TRAINED
 * bytes to out.  Takes about 0.1 s and 5 MB for 1000 pages.  Returns its
 * length; 0 if nothing can be made of them.
 */
size_t dictionary_train (const void *pages, size_t nr_pages, void *out);

#endif /* DICTIONARY_H */
