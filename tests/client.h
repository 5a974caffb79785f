/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NBD test programs share: how they end, random numbers, data. */
#ifndef TEST_CLIENT_H
#define TEST_CLIENT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <libnbd.h>

#define KIB  UINT64_C (1024)
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)

#define PAGE 4096u

/* The longest request that the server says it takes. */
#define MAX_REQUEST (32 * MIB)

/* End the test program, saying why. */
#define DIE(...)                                                               \
  do {                                                                         \
    fprintf (stderr, "%s:%d: ", __FILE__, __LINE__);                           \
    fprintf (stderr, __VA_ARGS__);                                             \
    fputc ('\n', stderr);                                                      \
    exit (1);                                                                  \
  } while (0)

/* Compare two integers, and end with both if the comparison does not hold. */
#define ASSERT_INT(a, op, b)                                                   \
  do {                                                                         \
    int64_t assert_a = (a), assert_b = (b);                                    \
    if (!(assert_a op assert_b))                                               \
      DIE ("%s %s %s does not hold: %" PRId64 ", %" PRId64, #a, #op, #b,       \
           assert_a, assert_b);                                                \
  } while (0)

/* A call of libnbd that has to succeed. */
#define NBD(call)                                                              \
  do {                                                                         \
    if ((call) == -1)                                                          \
      DIE ("%s", nbd_get_error ());                                            \
  } while (0)

/* splitmix64: any state is a good one. */
uint64_t rng_next (uint64_t *state);

/* A number from 0 to below - 1. */
uint64_t rng_below (uint64_t *state, uint64_t below);

/* What a stretch of the device holds.  Each byte follows from the seed and its
 * place on the device, so that any part can be checked without a copy of it.
 */
enum data_kind {
  DATA_FILL,   /* the byte `seed' */
  DATA_RANDOM, /* does not compress */
  DATA_TEXT,   /* compresses to between a third and a sixth */
  DATA_KINDS,
};

struct data {
  enum data_kind kind;
  uint64_t seed;
};

void data_make (const struct data *data, void *buf, uint64_t offset,
                size_t len);

/* Compare, and die with the place of the first difference. */
void data_compare (const void *got, const void *want, size_t len,
                   uint64_t offset, const char *what);

void *xmalloc (size_t len);
void *xcalloc (size_t len);

/* A connection that sends also what the server is bound to refuse. */
struct nbd_handle *client_connect (const char *uri);
void client_close (struct nbd_handle *nbd);

/* A whole argument as a number, which may end in K, M, G or T; dies if it is
 * none.
 */
uint64_t parse_number (const char *text);

/* Nanoseconds of a clock that only goes forward. */
uint64_t now_ns (void);

#endif /* TEST_CLIENT_H */
