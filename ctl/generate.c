/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the making of pages out of a seed.  The same kind, seed and index
 * give the same bytes on every machine, so a failure can be repeated from
 * the seed a test prints.
 *
 *   incompressible  random bytes
 *   same-filled     one word repeated: half of the pages zero, a quarter a
 *                   random 32-bit word twice, a quarter a random 64-bit word
 *   text            English words by falling frequency, numbers, lines and
 *                   phrases said again: lz4 halves it
 *   mixed           one page in 8 same-filled, one in 8 incompressible, three
 *                   in 8 text, and three in 8 text that turns into random
 *                   bytes at a random point, so that compressed lengths are
 *                   spread over the whole range
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "generate.h"
#include "zspage-page.h"

/* Splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", 2014.
 */
struct random {
  uint64_t state;
};

static uint64_t
scramble (uint64_t z)
{
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t
random_next (struct random *rnd)
{
  rnd->state += UINT64_C (0x9e3779b97f4a7c15);
  return scramble (rnd->state);
}

/* A number below limit.  The bias does not matter for so small a limit. */
static unsigned
random_below (struct random *rnd, unsigned limit)
{
  return (random_next (rnd) >> 32) % limit;
}

static void
put_word (unsigned char *to, uint64_t word)
{
  size_t i;

  /* Little endian everywhere. */
  for (i = 0; i < sizeof word; i++)
    to[i] = word >> (8 * i);
}

static void
fill_incompressible (struct random *rnd, unsigned char *page, size_t from)
{
  unsigned char word[8];
  size_t i;

  for (i = from; i < ZSPAGE_PAGE_SIZE; i++) {
    if (i == from || i % sizeof word == 0)
      put_word (word, random_next (rnd));
    page[i] = word[i % sizeof word];
  }
}

static void
fill_same (struct random *rnd, unsigned char *page)
{
  uint64_t word = 0;
  size_t i;

  switch (random_below (rnd, 4)) {
  case 0:
    word = random_next (rnd) >> 32;
    word |= word << 32;
    break;
  case 1:
    word = random_next (rnd);
    break;
  default:
    break;
  }
  for (i = 0; i < ZSPAGE_PAGE_SIZE; i += sizeof word)
    put_word (&page[i], word);
}

/* By falling frequency: the index is the product of two random numbers, so
 * that the first are the most common.
 */
/* clang-format off */
static const char *const words[] = {
  "the",         "of",          "and",           "to",           "a",
  "in",          "is",          "that",          "for",          "it",
  "as",          "was",         "with",          "be",           "by",
  "on",          "not",         "he",            "this",         "are",
  "or",          "his",         "from",          "at",           "which",
  "but",         "have",        "an",            "had",          "they",
  "you",         "were",        "their",         "one",          "all",
  "we",          "can",         "her",           "has",          "there",
  "been",        "if",          "more",          "when",         "will",
  "would",       "who",         "so",            "no",           "page",
  "memory",      "server",      "value",         "number",       "between",
  "request",     "because",     "system",        "process",      "before",
  "another",     "address",     "through",       "without",      "question",
  "however",     "several",     "interest",      "different",    "important",
  "possible",    "following",   "together",      "therefore",    "government",
  "experience",  "compression", "understand",    "development",  "particular",
  "information", "environment", "international", "relationship", "university",
};
/* clang-format on */

/* Copy str to page at pos, as far as there is room.  Returns the new pos. */
static size_t
put_str (unsigned char *page, size_t pos, const char *str, size_t len)
{
  if (len > ZSPAGE_PAGE_SIZE - pos)
    len = ZSPAGE_PAGE_SIZE - pos;
  memcpy (&page[pos], str, len);
  return pos + len;
}

static void
fill_text (struct random *rnd, unsigned char *page)
{
  const unsigned nr_words = sizeof words / sizeof words[0];
  size_t pos = 0, len;
  char str[64];

  while (pos < ZSPAGE_PAGE_SIZE) {
    const unsigned what = random_below (rnd, 64);

    if (what < 6 && pos >= sizeof str) {
      /* Say again what was said before. */
      len = 16 + random_below (rnd, 48);
      memcpy (str, &page[random_below (rnd, pos - len + 1)], len);
    }
    else if (what < 8)
      len =
        (size_t) snprintf (str, sizeof str, "%u", random_below (rnd, 100000));
    else {
      const unsigned a = random_below (rnd, nr_words);
      const unsigned b = random_below (rnd, nr_words);

      len = (size_t) snprintf (str, sizeof str, "%s", words[a * b / nr_words]);
    }
    pos = put_str (page, pos, str, len);
    pos = put_str (page, pos, what < 60 ? " " : what < 62 ? "," : "\n", 1);
  }
}

static void
fill_mixed (struct random *rnd, unsigned char *page)
{
  switch (random_below (rnd, 8)) {
  case 0:
    fill_same (rnd, page);
    break;
  case 1:
    fill_incompressible (rnd, page, 0);
    break;
  case 2:
  case 3:
  case 4:
    fill_text (rnd, page);
    break;
  default:
    fill_text (rnd, page);
    fill_incompressible (rnd, page, random_below (rnd, ZSPAGE_PAGE_SIZE));
    break;
  }
}

static const char *const kind_names[CTL_NR_KINDS] = {
  [CTL_KIND_INCOMPRESSIBLE] = "incompressible",
  [CTL_KIND_SAME_FILLED] = "same-filled",
  [CTL_KIND_TEXT] = "text",
  [CTL_KIND_MIXED] = "mixed",
};

const char *
ctl_kind_name (enum ctl_kind kind)
{
  return kind_names[kind];
}

int
ctl_kind_parse (const char *name, enum ctl_kind *kind)
{
  unsigned i;

  for (i = 0; i < CTL_NR_KINDS; i++) {
    if (strcmp (name, kind_names[i]) == 0) {
      *kind = (enum ctl_kind) i;
      return 0;
    }
  }
  return -EINVAL;
}

void
ctl_generate_page (enum ctl_kind kind, uint64_t seed, uint64_t idx,
                   unsigned char *page)
{
  /* Scrambled twice, so that neither neighbouring pages nor neighbouring
   * seeds walk through each other's numbers.
   */
  struct random rnd = {scramble (scramble (seed + 1) + idx)};

  switch (kind) {
  case CTL_KIND_INCOMPRESSIBLE:
    fill_incompressible (&rnd, page, 0);
    break;
  case CTL_KIND_SAME_FILLED:
    fill_same (&rnd, page);
    break;
  case CTL_KIND_TEXT:
    fill_text (&rnd, page);
    break;
  case CTL_KIND_MIXED:
  case CTL_NR_KINDS:
    fill_mixed (&rnd, page);
    break;
  }
}
