/* SPDX-License-Identifier: BSD-3-Clause */
/* What the server does besides block I/O: housekeeping and statistics. */
#ifndef SERVICE_H
#define SERVICE_H

#include "plugin-config.h"

/* Open the sockets of the statistics.  0, or -1 after nbdkit_error. */
int service_listen (const struct server_config *config);

/* Start the housekeeper.  0, or -1 after nbdkit_error. */
int service_start (const struct server_config *config);

/* End it all.  May be called at any time, and twice. */
void service_stop (void);

#endif /* SERVICE_H */
