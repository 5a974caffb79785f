/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may open a device, and who has. */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>

#include "device.h"

/* Whether the client of this thread's connection may open a device with this
 * configuration, whoever else has it open.
 */
bool access_is_allowed (const struct device_config *config);

/* Say that it may not: nbdkit_error, nbdkit_set_error (EACCES).  Consequence is
 * added, and may be "".
 */
void access_refuse (const char *device, const char *consequence);

/* Let the client of this thread's connection attach to a device.  0, or -1
 * after nbdkit_error and nbdkit_set_error (EACCES, EBUSY).
 */
int access_attach (struct device *device);

/* As access_attach, of one who only looks at statistics: allow_uid and
 * allow_gid hold, but it does not count as a client.
 */
int access_look (struct device *device);
void access_detach (struct device *device);

#endif /* ACCESS_H */
