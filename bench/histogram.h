/* SPDX-License-Identifier: BSD-3-Clause */
/* A log-linear histogram of durations: 64 steps to each power of two, so a
 * quantile is within 1.6% of the true one over the whole range of uint64_t
 * nanoseconds, in a fixed 30 KB and without a branch on the value's size.
 *
 * No locks: each thread fills its own, and they are merged afterwards.
 */

#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 6
#define HISTOGRAM_STEPS     (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_BUCKETS   ((64 - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS)

/* An all-zero struct is an empty histogram. */
struct histogram {
  uint64_t nr_values; /* == sum of nr[] */
  uint64_t nr[HISTOGRAM_BUCKETS];
};

void histogram_add (struct histogram *h, uint64_t ns);

/* Add all that FROM holds to H. */
void histogram_merge (struct histogram *h, const struct histogram *from);

/* The smallest bucket (its middle, in ns) that at least FRACTION of all values
 * do not exceed; FRACTION is in 0..1.  0 when the histogram is empty.
 */
uint64_t histogram_quantile (const struct histogram *h, double fraction);

#endif /* BENCH_HISTOGRAM_H */
