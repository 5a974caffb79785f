/* SPDX-License-Identifier: BSD-3-Clause */
/* splitmix64: numbers at random that are the same in each run. */

#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

#define RANDOM_STEP UINT64_C (0x9e3779b97f4a7c15)

/* A number that has nothing to do with n, but is always the same for it. */
static inline uint64_t
random_of (uint64_t n)
{
  n = (n ^ n >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  n = (n ^ n >> 27) * UINT64_C (0x94d049bb133111eb);
  return n ^ n >> 31;
}

/* The next one; the state may start from any seed. */
static inline uint64_t
random_next (uint64_t *state)
{
  return random_of (*state += RANDOM_STEP);
}

#endif /* BENCH_RANDOM_H */
