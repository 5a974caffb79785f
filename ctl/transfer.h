/* SPDX-License-Identifier: BSD-3-Clause */

/* Writing a file of pages to an NBD server, and comparing it with what the
 * server gives back.
 */

#ifndef CTL_TRANSFER_H
#define CTL_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_MAX_CONNECTIONS   16
#define CTL_MAX_REQUEST_BYTES (32 * 1024 * 1024)

struct ctl_transfer {
  const char *uri;
  const char *file;
  uint64_t offset;         /* of the file's first byte on the device */
  size_t request_bytes;    /* 1 to CTL_MAX_REQUEST_BYTES */
  unsigned nr_connections; /* 1 to CTL_MAX_CONNECTIONS */
};

struct ctl_transfer_result {
  uint64_t nr_bytes;       /* of the file */
  uint64_t ns;             /* from the first request to the last reply */
  unsigned nr_connections; /* 1 if the server did not allow more */
  bool differs;            /* verify only: the device has other bytes ... */
  uint64_t differs_at;     /* ... from this byte of the file on ... */
  unsigned char expected;  /* ... which is this in the file ... */
  unsigned char found;     /* ... and this on the device */
  char msg[512];
};

/* Write the file to the device, and flush it if the server can.  The file
 * must be whole pages, at least one, and must not change meanwhile.  Shows
 * progress on stderr.
 *
 * Returns 0, or -errno with what failed and where in res->msg; the device may
 * then have been written in part, in no particular order.
 */
extern int ctl_store (const struct ctl_transfer *t,
                      struct ctl_transfer_result *res);

/* Compare each byte of the file with the device's.  Stops at the first
 * difference.  Returns 0 when the comparison could be made (see res->differs
 * for its outcome), or -errno with res->msg as above.
 */
extern int ctl_verify (const struct ctl_transfer *t,
                       struct ctl_transfer_result *res);

#endif /* CTL_TRANSFER_H */
