/* SPDX-License-Identifier: BSD-3-Clause */

/* What a server with comp_algorithm=auto does to pages after they are written,
 * done at once to all pages of a store of this process.
 */

#ifndef CTL_ESTIMATE_AUTO_H
#define CTL_ESTIMATE_AUTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

/* Make config->dense and config->strong, each for one thread; the caller
 * destroys them after the store.  -ENOMEM; what was made then is set, and the
 * caller's all the same.
 */
extern int ctl_auto_codecs (struct store_config *config);

/* Train a dictionary on what is stored, if a server would; take it if it gains
 * enough; and be ready to recompress.  -ENOMEM.
 */
extern int ctl_auto_begin (struct store *store);

/* Recompress a little, from page *at on, which is 0 at first, and beyond the
 * last page at the end.  Whether there is more to do.
 */
extern bool ctl_auto_slice (struct store *store, uint64_t *at);

/* Give up what only recompressing needs, and compact. */
extern void ctl_auto_end (struct store *store);

#endif /* CTL_ESTIMATE_AUTO_H */
