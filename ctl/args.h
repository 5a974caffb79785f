/* SPDX-License-Identifier: BSD-3-Clause */

/* Reading the numbers of a command line. */

#ifndef CTL_ARGS_H
#define CTL_ARGS_H

#include <stdint.h>

/* Read an unsigned decimal number, or hexadecimal with 0x, that is all of
 * str.  Returns 0, -EINVAL if it is not one, or -ERANGE if it is above max;
 * *value is only changed on success.
 */
extern int ctl_parse_number (const char *str, uint64_t max, uint64_t *value);

/* The same, but decimal only. */
extern int ctl_parse_decimal (const char *str, uint64_t max, uint64_t *value);

/* As ctl_parse_number, of a size in bytes that may end in K, M, G, T or P
 * (powers of 1024, either case), and may then have a decimal fraction, as 1.5G;
 * what is left of a byte is dropped.
 */
extern int ctl_parse_size (const char *str, uint64_t max, uint64_t *value);

#endif /* CTL_ARGS_H */
