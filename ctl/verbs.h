/* SPDX-License-Identifier: BSD-3-Clause */

/* What verbs are given, and the verbs. */

#ifndef CTL_VERBS_H
#define CTL_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "table.h"

struct ctl_invocation {
  struct ctl_client *client; /* NULL for verbs that need no server */
  struct ctl_columns columns;
  struct ctl_table_style style;
  bool json;
  bool yes;
  uint32_t interval_ms;
  uint64_t count; /* 0: for ever */
  int pid;        /* 0: none */
  const char *file;
  uint64_t max_pages; /* 0: as many as is sensible */
  const char *export; /* a file to write; NULL: none */
  bool train;
  /* What is left of the command line, as many as the table of verbs says. */
  int nr_args;
  char **args;
};

/* Each returns an exit status, having complained if that is not 0. */
typedef int ctl_verb_fn (const struct ctl_invocation *inv);

extern ctl_verb_fn ctl_list, ctl_show, ctl_get, ctl_set, ctl_compact, ctl_idle,
  ctl_reset, ctl_recompress, ctl_dictionary, ctl_state, ctl_check, ctl_classes,
  ctl_watch, ctl_estimate;

#endif /* CTL_VERBS_H */
