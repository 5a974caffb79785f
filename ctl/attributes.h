/* SPDX-License-Identifier: BSD-3-Clause */

/* What is known here of the attributes of a device: their names for help and
 * completion, and which take the server long.  Whether one may be read or
 * written, and what it takes, is for the server to say.
 */

#ifndef CTL_ATTRIBUTES_H
#define CTL_ATTRIBUTES_H

#include <stdbool.h>

struct ctl_attribute {
  const char *name;
  bool can_get, can_set;
  bool is_slow; /* the server goes over all pages for it */
  const char *help;
};

/* Ends with a name of NULL. */
extern const struct ctl_attribute ctl_attributes[];

/* Seconds to wait for the server, also for names that are not known here. */
extern unsigned ctl_attribute_timeout_s (const char *name);

/* The names of those that can be set, or got, with spaces between.  The
 * caller frees it; NULL: no memory.
 */
extern char *ctl_attribute_names (bool to_set);

#endif /* CTL_ATTRIBUTES_H */
