/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals of time as options take them: 500ms, 5s, 1m, 2h, or 0. */
#ifndef DURATION_H
#define DURATION_H

#define DURATION_MAX_MS (24u * 3600 * 1000)

/* Returns 0; or -EINVAL if text, which may be anything, is not a whole number
 * with one of these units, or is more than a day.
 */
int duration_parse (const char *text, unsigned *ms);

#endif /* DURATION_H */
