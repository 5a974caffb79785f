/* SPDX-License-Identifier: BSD-3-Clause */
/* What all tests share: random numbers from a seed that can be repeated, how
 * much to do, and pages of various contents.
 *
 * Environment:
 *   ZSPAGE_SEED   the seed; by default from the clock, and printed.
 *   ZSPAGE_SCALE  percentage of the usual work; by default 100, and less where
 *                 a sanitizer makes everything slow.
 *   ZSPAGE_OPS    exact number of operations of test-model and test-stress.
 */
#ifndef HELPERS_H
#define HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "zspage-page.h"

#define NELEM(a) (sizeof (a) / sizeof ((a)[0]))

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_IS_SANITIZED 1
#else
#define TEST_IS_SANITIZED 0
#endif

/* Group setup of every test program: prints the seed. */
int test_setup (void **state);

uint64_t test_seed (void);

/* n scaled by ZSPAGE_SCALE, at least 1. */
size_t test_scaled (size_t n);
/* ZSPAGE_OPS, or n scaled. */
size_t test_ops (size_t n);

/* Seconds since some moment. */
double test_now (void);

/* splitmix64: any state is good, and states may be set to repeat. */
struct rng {
  uint64_t state;
};

/* A generator from the seed; another stream gives other numbers. */
struct rng rng_make (uint64_t stream);
uint64_t rng_next (struct rng *rng);
/* 0..n-1; n > 0. */
uint64_t rng_below (struct rng *rng, uint64_t n);
/* lo..hi */
uint64_t rng_range (struct rng *rng, uint64_t lo, uint64_t hi);
/* True once in n times. */
bool rng_one_in (struct rng *rng, uint64_t n);
void rng_bytes (struct rng *rng, void *buf, size_t len);

enum page_kind {
  PAGE_ZERO,
  PAGE_FILL,   /* one word below 2^56 */
  PAGE_FILL32, /* one 32-bit word */
  PAGE_FILL64, /* one word that does not fit into a slot */
  PAGE_TEXT,   /* words: compresses to a third or so */
  PAGE_HALF,   /* half noise */
  PAGE_NOISE,  /* of any length, and text */
  PAGE_RANDOM, /* does not compress */
  PAGE_KINDS,
};

void page_make (enum page_kind kind, struct rng *rng, void *page);

/* A page that compresses to about noise_len bytes: that many of noise. */
void page_make_noise (struct rng *rng, size_t noise_len, void *page);

bool page_is_zero (const void *page);

#endif /* HELPERS_H */
