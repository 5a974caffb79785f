/* SPDX-License-Identifier: BSD-3-Clause */
/* See dictionary-pages.h. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "dictionary-pages.h"

#define NR_NAMES   60
#define NR_SAMPLES 300

/* As much as there is room for. */
static size_t
append (uint8_t *page, size_t at, const void *bytes, size_t n)
{
  if (n > ZSPAGE_PAGE_SIZE - at)
    n = ZSPAGE_PAGE_SIZE - at;
  memcpy (page + at, bytes, n);
  return at + n;
}

void
page_of_records (struct rng *rng, unsigned family, void *page)
{
  uint8_t bytes[64];
  size_t at = 0, n;

  while (at < ZSPAGE_PAGE_SIZE) {
    struct rng name =
      rng_make (1000 + family * NR_NAMES + rng_below (rng, NR_NAMES));

    n = rng_range (&name, 24, sizeof bytes);
    rng_bytes (&name, bytes, n);
    at = append (page, at, bytes, n);
    rng_bytes (rng, bytes, 8);
    at = append (page, at, bytes, 8);
  }
}

struct dictionary *
dictionary_of_records (unsigned family, int level)
{
  uint8_t *pages = malloc ((size_t) NR_SAMPLES * ZSPAGE_PAGE_SIZE);
  uint8_t *bytes = malloc (DICTIONARY_TRAINED);
  struct rng rng = rng_make (900 + family);
  struct dictionary *d;
  const char *why = "";
  size_t i, len;

  assert_true (pages && bytes);
  for (i = 0; i < NR_SAMPLES; ++i)
    page_of_records (&rng, family, pages + i * ZSPAGE_PAGE_SIZE);
  len = dictionary_train (pages, NR_SAMPLES, bytes);
  assert_in_range (len, DICTIONARY_MIN, DICTIONARY_TRAINED);
  assert_int_equal (dictionary_create (bytes, len, level, &d, &why), 0);
  free (bytes);
  free (pages);
  return d;
}
