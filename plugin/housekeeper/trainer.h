/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a dictionary of a sample of a device's pages, if that gains enough. */
#ifndef TRAINER_H
#define TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include "store.h"

/* Pages of a sample, of which one in 8 is held out to judge by: 4 MiB. */
#define TRAINER_PAGES 1024u
/* Fewer are not worth it. */
#define TRAINER_PAGES_MIN 256u
/* Of memory while it goes on: the sample, what is trained on, and tables. */
#define TRAINER_BYTES (UINT64_C (11) << 20)
/* What is held out must take so much less memory, in percent, than with what
 * there is now.
 */
#define TRAINER_MARGIN 1u

struct training {
  struct store *store;          /* whose classes count */
  const struct dictionary *now; /* what it has; NULL = none; must stay */
  int level;                    /* of zstd, for which it is digested */
  int judge_level;              /* at which it must gain */
  const uint8_t *pages;         /* [nr_pages], the sample */
  size_t nr_pages;

  /* The result: NULL if it does not gain enough, or nothing could be made.
   * Bytes that what was held out takes without and with it; 0 and 0 in the
   * latter case.
   */
  struct dictionary *dictionary;
  uint64_t bytes_before, bytes_after;
};

/* Takes some 0.2 s. */
void trainer_run (struct training *training);

#endif /* TRAINER_H */
