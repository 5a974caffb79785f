/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics and attributes over HTTP, on the housekeeper's loop.
 *
 *   GET /devices                 every device, as JSON
 *   GET /devices/NAME/ATTRIBUTE  zram's text; stats.json
 *   PUT /devices/NAME/ATTRIBUTE  as writing to zram's sysfs
 *   GET /metrics                 for Prometheus
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>

#include "housekeeper.h"
#include "stats.h"

struct http;

/* Serve on a listening socket, one of so many; to be called before the
 * housekeeper starts.  The socket is closed in the end, also if this fails.
 * read_only: PUT is refused.  -ENOMEM or -EIO.
 */
int http_create (struct housekeeper *hk, const struct stats_devices *devices,
                 int fd, bool read_only, unsigned nr_sockets,
                 struct http **http);

/* On the loop thread: stop listening, drop every client, close the handles. */
void http_stop (struct http *http);

/* After the loop has ended. */
void http_destroy (struct http *http);

#endif /* HTTP_H */
