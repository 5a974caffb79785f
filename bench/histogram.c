/* SPDX-License-Identifier: BSD-3-Clause */
/* Log-linear histogram; see histogram.h. */

#include <config.h>

#include <stdint.h>

#include "histogram.h"

/* Values below HISTOGRAM_STEPS have a bucket each.  Above, the top bit picks
 * a group of HISTOGRAM_STEPS buckets and the bits after it the bucket.
 */
static unsigned
bucket_of (uint64_t ns)
{
  unsigned shift;

  if (ns < HISTOGRAM_STEPS)
    return (unsigned) ns;
  shift = 63 - (unsigned) __builtin_clzll (ns) - HISTOGRAM_STEP_BITS;
  return shift * HISTOGRAM_STEPS + (unsigned) (ns >> shift);
}

static uint64_t
middle_of (unsigned bucket)
{
  unsigned shift;
  uint64_t first;

  if (bucket < 2 * HISTOGRAM_STEPS)
    return bucket;
  shift = bucket / HISTOGRAM_STEPS - 1;
  first = (uint64_t) (bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << shift;
  return first + (UINT64_C (1) << (shift - 1));
}

void
histogram_add (struct histogram *h, uint64_t ns)
{
  h->nr[bucket_of (ns)]++;
  h->nr_values++;
}

void
histogram_merge (struct histogram *h, const struct histogram *from)
{
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
    h->nr[i] += from->nr[i];
  h->nr_values += from->nr_values;
}

uint64_t
histogram_quantile (const struct histogram *h, double fraction)
{
  uint64_t seen = 0;

  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    seen += h->nr[i];
    if (seen > 0 && (double) seen >= fraction * (double) h->nr_values)
      return middle_of (i);
  }
  return 0;
}
