/* SPDX-License-Identifier: BSD-3-Clause */
/* zram's algorithm_params: "level=3 dict=/etc/zram.dict". */
#ifndef ALGORITHM_PARAMS_H
#define ALGORITHM_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

struct algorithm_params {
  bool has_level;
  int level;
  /* A path in the text, not terminated; NULL: none.  Once the configuration is
   * complete it is absolute, and a string.
   */
  const char *dict;
  size_t dict_len;
};

/* Parse words of the form key=value, separated by spaces.  Returns 0; or
 * -EINVAL and in why what was wrong, with what is allowed; *params is
 * unchanged then.  text may be anything; dict is part of it.
 */
int algorithm_params_parse (const char *text, struct algorithm_params *params,
                            char *why, size_t why_size);

#endif /* ALGORITHM_PARAMS_H */
