/* SPDX-License-Identifier: BSD-3-Clause */
/* What each thread holds, by rank: only debug builds look. */
#include <config.h>

#include "ranked-lock.h"

#ifdef ZSPAGE_DEBUG
__thread unsigned char ranked_lock_held[RANK_COUNT];
#endif
