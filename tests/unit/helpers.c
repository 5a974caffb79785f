/* SPDX-License-Identifier: BSD-3-Clause */
/* What all tests share; see helpers.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "helpers.h"

/* The validator holds all class locks, and the detector of deadlocks has room
 * for 64; debug builds check the order by rank instead.  The exit status of a
 * child that is killed says nothing, so it ends at once.
 */
const char *__tsan_default_options (void);

const char *
__tsan_default_options (void)
{
  return "detect_deadlocks=0:halt_on_error=1";
}

static uint64_t
env_number (const char *name, uint64_t dflt)
{
  const char *text = getenv (name);

  return text && *text ? strtoull (text, NULL, 0) : dflt;
}

uint64_t
test_seed (void)
{
  static uint64_t seed;
  struct timespec ts;

  if (seed == 0) {
    clock_gettime (CLOCK_REALTIME, &ts);
    seed = env_number ("ZSPAGE_SEED",
                       ((uint64_t) ts.tv_sec << 20 ^ ts.tv_nsec) % 1000000007);
    if (seed == 0)
      seed = 1;
  }
  return seed;
}

int
test_setup (void **state)
{
  (void) state;
  printf ("seed %llu: repeat with ZSPAGE_SEED=%llu\n",
          (unsigned long long) test_seed (), (unsigned long long) test_seed ());
  fflush (stdout);
  return 0;
}

size_t
test_scaled (size_t n)
{
  uint64_t scale = env_number ("ZSPAGE_SCALE", TEST_IS_SANITIZED ? 25 : 100);

  n = n * scale / 100;
  return n > 0 ? n : 1;
}

size_t
test_ops (size_t n)
{
  uint64_t ops = env_number ("ZSPAGE_OPS", 0);

  return ops > 0 ? ops : test_scaled (n);
}

double
test_now (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec + ts.tv_nsec / 1e9;
}

struct rng
rng_make (uint64_t stream)
{
  struct rng rng = {test_seed () ^ stream << 40};

  rng_next (&rng);
  return rng;
}

uint64_t
rng_next (struct rng *rng)
{
  uint64_t z = rng->state += UINT64_C (0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C (0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint64_t
rng_below (struct rng *rng, uint64_t n)
{
  return rng_next (rng) % n;
}

uint64_t
rng_range (struct rng *rng, uint64_t lo, uint64_t hi)
{
  return lo + rng_below (rng, hi - lo + 1);
}

bool
rng_one_in (struct rng *rng, uint64_t n)
{
  return rng_below (rng, n) == 0;
}

void
rng_bytes (struct rng *rng, void *buf, size_t len)
{
  uint8_t *p = buf;

  while (len > 0) {
    uint64_t word = rng_next (rng);
    size_t n = len < sizeof word ? len : sizeof word;

    memcpy (p, &word, n);
    p += n;
    len -= n;
  }
}

static void
fill (void *page, uint64_t word)
{
  uint8_t *p = page;
  size_t i;

  for (i = 0; i < ZSPAGE_PAGE_SIZE; i += sizeof word)
    memcpy (p + i, &word, sizeof word);
}

static void
words (struct rng *rng, uint8_t *p, size_t len)
{
  static const char text[] =
    "the swap of pages was a thing that servers kept in their memory and "
    "never gave to a disk because every write there takes milliseconds ";
  const size_t size = sizeof text - 1;

  while (len > 0) {
    uint64_t r = rng_next (rng);
    size_t from = r % size, n = 3 + (r >> 32) % 13;

    if (n > size - from)
      n = size - from;
    if (n > len)
      n = len;
    memcpy (p, text + from, n);
    p += n;
    len -= n;
  }
}

void
page_make_noise (struct rng *rng, size_t noise_len, void *page)
{
  uint8_t *p = page;

  rng_bytes (rng, p, noise_len);
  memset (p + noise_len, '.', ZSPAGE_PAGE_SIZE - noise_len);
}

void
page_make (enum page_kind kind, struct rng *rng, void *page)
{
  uint64_t word = rng_next (rng);

  switch (kind) {
  case PAGE_ZERO:
    fill (page, 0);
    break;
  case PAGE_FILL:
    fill (page, word >> 8 | 1);
    break;
  case PAGE_FILL32:
    fill (page, (word | 1) >> 32 << 32 | word >> 32);
    break;
  case PAGE_FILL64:
    /* The top byte is set, and the halves differ. */
    fill (page, (word | UINT64_C (1) << 63) & ~UINT64_C (0x80000000));
    break;
  case PAGE_TEXT:
    words (rng, page, ZSPAGE_PAGE_SIZE);
    break;
  case PAGE_HALF:
    rng_bytes (rng, page, ZSPAGE_PAGE_SIZE / 2);
    words (rng, (uint8_t *) page + ZSPAGE_PAGE_SIZE / 2, ZSPAGE_PAGE_SIZE / 2);
    break;
  case PAGE_NOISE:
    page_make_noise (rng, word % (ZSPAGE_PAGE_SIZE - 32), page);
    break;
  default:
    rng_bytes (rng, page, ZSPAGE_PAGE_SIZE);
  }
}

bool
page_is_zero (const void *page)
{
  const uint8_t *p = page;

  return p[0] == 0 && memcmp (p, p + 1, ZSPAGE_PAGE_SIZE - 1) == 0;
}
