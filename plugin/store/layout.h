/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the parts of a device's mapping are (zspage-format.h): for a new device,
 * and whether what a file says of it is possible.  Pure functions.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>

#include "zspage-format.h"

/* Bytes for a sentence that says why something is refused. */
#define LAYOUT_WHY 160u

/* The header of a new device.  -EINVAL: disksize or chain_size is not
 * allowed.
 */
int layout_init (struct zspage_header *header, uint64_t disksize,
                 unsigned chain_size, bool has_checks);

/* Whether a file of so many bytes can have this header, which may be anything.
 * -EMEDIUMTYPE: it is foreign.  -EPROTONOSUPPORT: newer, or of another kind of
 * machine.  -EUCLEAN: damaged.  And a sentence in why.
 */
int layout_check (const struct zspage_header *header, uint64_t file_bytes,
                  char why[LAYOUT_WHY]);

#endif /* LAYOUT_H */
