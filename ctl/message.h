/* SPDX-License-Identifier: BSD-3-Clause */

/* What zspagectl says when something is wrong, and its exit status. */

#ifndef CTL_MESSAGE_H
#define CTL_MESSAGE_H

#define CTL_EXIT_FAILED 1
#define CTL_EXIT_USAGE  2

/* Print "zspagectl: " and the message to stderr, as one line that ends
 * without a newline of its own.  Control characters, which a message may have
 * from a server, are shown as '?'.  Return CTL_EXIT_FAILED and CTL_EXIT_USAGE.
 */
extern int ctl_fail (const char *fs, ...)
  __attribute__ ((format (printf, 1, 2)));
extern int ctl_usage (const char *fs, ...)
  __attribute__ ((format (printf, 1, 2)));

#endif /* CTL_MESSAGE_H */
