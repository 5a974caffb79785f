/* SPDX-License-Identifier: BSD-3-Clause */

/* Made-up pages for tests and benchmarks: see generate.c for what each kind
 * is like.
 */

#ifndef CTL_GENERATE_H
#define CTL_GENERATE_H

#include <stdint.h>

enum ctl_kind {
  CTL_KIND_INCOMPRESSIBLE,
  CTL_KIND_SAME_FILLED,
  CTL_KIND_TEXT,
  CTL_KIND_MIXED,
  CTL_NR_KINDS
};

/* The kind's name, as on the command line. */
extern const char *ctl_kind_name (enum ctl_kind kind);

/* Returns 0, or -EINVAL if no kind has that name; then *kind is unchanged. */
extern int ctl_kind_parse (const char *name, enum ctl_kind *kind);

/* Fill page (ZSPAGE_PAGE_SIZE bytes) with page number idx of the endless
 * sequence that kind and seed stand for.  No page depends on another, so a
 * test can check any page without keeping what it wrote.
 */
extern void ctl_generate_page (enum ctl_kind kind, uint64_t seed, uint64_t idx,
                               unsigned char *page);

#endif /* CTL_GENERATE_H */
