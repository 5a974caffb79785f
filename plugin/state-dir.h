/* SPDX-License-Identifier: BSD-3-Clause */
/* state=DIR: the directory where each device is kept in a file, NAME.zspage, so
 * that its pages outlive the server.
 */
#ifndef STATE_DIR_H
#define STATE_DIR_H

#include "plugin-config.h"
#include "store.h"

/* Whether pages may be kept there: it must be a directory of a tmpfs, unless the
 * server is told that a disk will do.  0, or -1 after nbdkit_error.
 */
int state_dir_check (const struct server_config *config);

/* Say how much room there is, if it is less than all devices may use. */
void state_dir_check_room (const struct server_config *config);

/* Open or make the file of a device, and say if it has another layout than is
 * configured.  0, or -1 after nbdkit_error.
 */
int state_dir_open (const struct device_config *config,
                    struct state_file *file);

/* Say what was found in it. */
void state_dir_tell (const char *device, const struct store *store);

/* While it is recovered; opaque is the device's name. */
void state_dir_progress (void *opaque, uint64_t done, uint64_t all);

/* Call fn for each file there that a device of that name might have, until it
 * returns nonzero, which is returned then.  -1 after nbdkit_error.
 */
int state_dir_for_each (int (*fn) (void *opaque, const char *name),
                        void *opaque);

/* The path of a device's file, of STATE_PATH_MAX bytes at most. */
#define STATE_PATH_MAX 4096u
int state_dir_path (const char *device, char path[STATE_PATH_MAX]);

#endif /* STATE_DIR_H */
