/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser of recorded traces; see trace.h for the format. */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define MAX_FIELDS 4

/* Where the parser is, for its messages. */
struct parser {
  const char *path;
  size_t line; /* counted from 1; 0: the file as a whole */
  char *error;
  size_t error_len; /* bytes */
};

static int __attribute__ ((format (printf, 2, 3)))
complain (const struct parser *p, const char *fmt, ...)
{
  char what[160];
  va_list ap;

  va_start (ap, fmt);
  vsnprintf (what, sizeof what, fmt, ap);
  va_end (ap);
  if (p->line == 0)
    snprintf (p->error, p->error_len, "%s: %s", p->path, what);
  else
    snprintf (p->error, p->error_len, "%s: line %zu: %s", p->path, p->line,
              what);
  return -1;
}

static int
parse_op (const struct parser *p, const char *s, enum load_op *op)
{
  static const enum load_op ops[] = {LOAD_READ, LOAD_WRITE, LOAD_TRIM,
                                     LOAD_FLUSH};

  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    if (strcmp (s, options_op_name (ops[i])) == 0) {
      *op = ops[i];
      return 0;
    }
  return complain (p, "op '%.32s': read, write, trim or flush is needed", s);
}

/* A whole number from MIN to MAX that is a multiple of STEP. */
static int
parse_number (const struct parser *p, const char *name, const char *s,
              uint64_t min, uint64_t max, uint64_t step, uint64_t *n)
{
  unsigned long long v = 0;
  bool ok = *s >= '0' && *s <= '9';
  char *end = NULL;

  if (ok) {
    errno = 0;
    v = strtoull (s, &end, 10);
    ok = errno == 0 && *end == '\0' && v >= min && v <= max && v % step == 0;
  }
  if (!ok)
    return complain (p,
                     "%s '%.32s': a multiple of %" PRIu64 " from %" PRIu64
                     " to %" PRIu64 " is needed",
                     name, s, step, min, max);
  *n = v;
  return 0;
}

/* Cut LINE at its tabs and return how many fields there are; all after the
 * last of MAX_FIELDS is dropped.
 */
static unsigned
split (char *line, char *fields[MAX_FIELDS])
{
  unsigned nr = 0;

  line[strcspn (line, "\r\n")] = '\0';
  while (nr < MAX_FIELDS && line != NULL) {
    fields[nr++] = line;
    line = strchr (line, '\t');
    if (line != NULL)
      *line++ = '\0';
  }
  return nr;
}

static int
parse_line (const struct parser *p, char *line, struct trace_request *rq)
{
  uint64_t len, in_flight = UINT32_MAX;
  uint64_t min = TRACE_BLOCK_SIZE, max = TRACE_DATA_MAX;
  uint64_t max_offset = INT64_MAX - UINT32_MAX;
  char *fields[MAX_FIELDS];
  unsigned nr = split (line, fields);

  if (nr < 3)
    return complain (p,
                     "%u of the fields op, offset and length, which tabs "
                     "separate: all are needed",
                     nr);
  if (parse_op (p, fields[0], &rq->op) < 0)
    return -1;
  if (rq->op == LOAD_TRIM)
    max = TRACE_TRIM_MAX;
  if (rq->op == LOAD_FLUSH)
    min = max = max_offset = 0;
  if (parse_number (p, "offset", fields[1], 0, max_offset, TRACE_BLOCK_SIZE,
                    &rq->offset) < 0 ||
      parse_number (p, "length", fields[2], min, max, TRACE_BLOCK_SIZE, &len) <
        0)
    return -1;
  if (nr > 3 && parse_number (p, "in_flight", fields[3], 1, UINT32_MAX, 1,
                              &in_flight) < 0)
    return -1;
  rq->len = (uint32_t) len;
  rq->in_flight = (uint32_t) in_flight;
  return 0;
}

static int
append (struct trace *t, size_t *capacity, const struct trace_request *rq)
{
  struct trace_request *p;

  if (t->nr == *capacity) {
    *capacity = *capacity == 0 ? 1024 : *capacity * 2;
    p = reallocarray (t->requests, *capacity, sizeof *p);
    if (p == NULL)
      return -1;
    t->requests = p;
  }
  t->requests[t->nr++] = *rq;
  t->has[rq->op] = true;
  if (rq->op != LOAD_TRIM && rq->len > t->max_len)
    t->max_len = rq->len;
  if (rq->offset + rq->len > t->end)
    t->end = rq->offset + rq->len;
  return 0;
}

static int
parse_file (struct trace *t, struct parser *p, FILE *fp)
{
  struct trace_request rq;
  size_t capacity = 0, size = 0;
  uint64_t nr_bytes = 0;
  char *line = NULL;
  ssize_t len;
  int r = 0;

  while (r == 0 && (len = getline (&line, &size, fp)) != -1) {
    p->line++;
    if (line[0] == '#' || line[strspn (line, "\r\n")] == '\0')
      continue;
    if (strlen (line) != (size_t) len)
      r = complain (p, "a zero byte: this is no text");
    else
      r = parse_line (p, line, &rq);
    if (r == 0 && append (t, &capacity, &rq) < 0)
      r = complain (p, "%s", strerror (ENOMEM));
    if (r == 0 && rq.op != LOAD_TRIM)
      nr_bytes += rq.len;
  }
  free (line);
  if (r < 0)
    return r;
  p->line = 0;
  if (ferror (fp))
    return complain (p, "%s", strerror (errno));
  if (t->nr == 0)
    return complain (p, "no request in it: lines of op, offset and length "
                        "are needed");
  t->mean_len = (nr_bytes + t->nr / 2) / t->nr;
  return 0;
}

int
trace_load (struct trace *t, const char *path, char *error, size_t len)
{
  struct parser p = {.path = path, .error = error, .error_len = len};
  FILE *fp = fopen (path, "re");
  int r;

  *t = (struct trace){.requests = NULL};
  if (fp == NULL)
    return complain (&p, "%s", strerror (errno));
  r = parse_file (t, &p, fp);
  fclose (fp);
  if (r < 0)
    trace_free (t);
  return r;
}

void
trace_free (struct trace *t)
{
  free (t->requests);
  *t = (struct trace){.requests = NULL};
}
