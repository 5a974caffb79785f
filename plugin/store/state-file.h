/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that keeps a device: making it, opening it, who owns it.
 *
 * A new file gets its name when it is complete, so that there are no half-made
 * ones.  An exclusive flock, which a fork inherits and every end of the process
 * gives up, says that a server has it.
 */
#ifndef STATE_FILE_H
#define STATE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout.h"

/* Bytes for a sentence that says what is wrong, with a path. */
#define STATE_WHY 512u

struct state_file {
  int fd;
  bool is_new;
  struct zspage_header header; /* as it was */
};

/* Open the file for a server, and lock it; or, if there is none, make one of the
 * layout that is wanted.  What is there must have its disksize; the rest of its
 * layout may differ.  A file that is refused is as it was.  -errno, and why in a
 * sentence: -EBUSY: another has it, and still does after a second or more, which
 * is time enough for one that was killed.  -EPERM: others could get at it.  -EMEDIUMTYPE, -EPROTONOSUPPORT, -EUCLEAN: as
 * layout_check.  -ESTALE: it is of another
 * disksize, or of before the machine was started again, and not closed.  Others: of system calls.
 */
int state_file_open (const char *path, const struct zspage_header *wanted,
                     struct state_file *file, char why[STATE_WHY]);

/* Open a file to look at it only, while no server has it. */
int state_file_open_readonly (const char *path, struct state_file *file,
                              char why[STATE_WHY]);

#endif /* STATE_FILE_H */
