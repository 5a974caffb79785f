/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that help with one large piece of work at a time.
 *
 * A guest sends one request and waits for it, and that may be a write of a MiB:
 * its pages are compressed by as many processors as have nothing else to do.
 * Whoever finds the crew taken works alone, as then there are enough threads
 * already.
 */
#ifndef CREW_H
#define CREW_H

#include <stdbool.h>
#include <stddef.h>

struct crew;

/* What a job is cut into, at most. */
#define CREW_PIECES 64u

/* helpers: how many, CREW_HELPERS_MAX at most; 0: one fewer than there are
 * processors on which the process may run.  Their threads do not run yet, so that
 * it may still fork.  scratch: bytes, for whoever has the crew.  -ENOMEM.
 */
#define CREW_HELPERS_MAX 3u
int crew_create (unsigned helpers, size_t scratch, struct crew **crew);

/* Start the threads.  Without, there are no helpers.  -errno. */
int crew_start (struct crew *crew);

/* End the threads, for good, when nobody has the crew or will ask for it.  crew
 * may be NULL.
 */
void crew_stop (struct crew *crew);

/* As crew_stop; and it is no more. */
void crew_destroy (struct crew *crew);

/* Give the scratch its memory now, so that using it asks for none. */
void crew_warm (struct crew *crew);

/* Bytes that belong to the crew, threads' stacks not among them.  0 of NULL. */
size_t crew_bytes (const struct crew *crew);

/* Have the crew, until crew_release.  False: somebody has it, it has no threads,
 * or it is NULL.
 */
bool crew_acquire (struct crew *crew);
void crew_release (struct crew *crew);

/* For whoever has the crew: */

void *crew_scratch (struct crew *crew);

/* Have helpers call piece (opaque, i) for pieces i < nr (at most CREW_PIECES), from
 * the last one down.
 */
void crew_begin (struct crew *crew, unsigned nr,
                 void (*piece) (void *opaque, unsigned i), void *opaque);

/* The next piece for the caller to do, counted from 0 up; false: helpers have
 * the others.
 */
bool crew_take (struct crew *crew, unsigned *i);

/* Nobody begins another piece; wait until those begun are done, and what they
 * wrote is to be seen.
 */
void crew_wait (struct crew *crew);

#endif /* CREW_H */
