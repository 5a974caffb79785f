/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded trace of requests, which nbd-load --replay sends again.
 *
 * The file is text.  Lines that start with # and empty lines are comments;
 * every other line is one request, in the order of arrival:
 *
 *   op <tab> offset <tab> length [<tab> in_flight [<tab> ...]]
 *
 * with op one of read, write, trim and flush; offset and length in bytes, each
 * a multiple of 512 (flush has 0 and 0); in_flight how many requests the
 * server had when this one arrived, itself included.  What follows is for
 * other readers and left alone.
 */

#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define TRACE_BLOCK_SIZE 512                   /* bytes; offsets, lengths */
#define TRACE_DATA_MAX   (2 * 1024 * 1024)     /* bytes of a read or write */
#define TRACE_TRIM_MAX   UINT32_C (0xfffffe00) /* bytes; what NBD can say */

struct trace_request {
  uint64_t offset;    /* bytes */
  uint32_t len;       /* bytes; 0 for a flush only */
  uint32_t in_flight; /* at least 1; UINT32_MAX where the file says nothing */
  enum load_op op;    /* LOAD_READ, _WRITE, _TRIM or _FLUSH */
};

struct trace {
  struct trace_request *requests;
  size_t nr;         /* requests, at least one */
  size_t max_len;    /* bytes of the longest read or write; 0: there is none */
  uint64_t mean_len; /* bytes read or written, for each request; rounded */
  uint64_t end;      /* bytes: the end of the request that ends last */
  bool has[LOAD_NR_OPS]; /* whether there is a request of that op */
};

/* Read the file PATH.  0, or -1 with a message in ERROR (LEN bytes), which has
 * the number of the line where a line is to blame; T is then empty.
 */
int trace_load (struct trace *t, const char *path, char *error, size_t len);

/* Free what trace_load allocated.  An empty T is allowed. */
void trace_free (struct trace *t);

#endif /* BENCH_TRACE_H */
