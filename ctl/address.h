/* SPDX-License-Identifier: BSD-3-Clause */

/* Where the server's statistics are: what its stats= option said. */

#ifndef CTL_ADDRESS_H
#define CTL_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

struct ctl_address {
  bool is_unix;
  char path[sizeof ((struct sockaddr_un *) NULL)->sun_path]; /* if is_unix */
  char host[64]; /* otherwise, with its port, as in a URL */
};

/* Parse PATH, unix:PATH, tcp:ADDRESS:PORT or tcp:[ADDRESS]:PORT; an ADDRESS
 * is of digits, so that no name service is asked, which might take long.
 *
 * Returns 0, or -EINVAL with the reason in *why, a static string; then
 * *address is undefined.
 */
extern int ctl_address_parse (const char *text, struct ctl_address *address,
                              const char **why);

#endif /* CTL_ADDRESS_H */
