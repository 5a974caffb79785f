/* SPDX-License-Identifier: BSD-3-Clause */
/* layout-bench FILE...: how much memory pages take with each chain size, once
 * compacted: compressed by lz4, and recompressed with a dictionary; many of them,
 * and few.  Files are of raw 4096-byte pages.
 */
#include <config.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dictionary.h"
#include "store.h"
#include "usage.h"
#include "zspage-page.h"

#define STRONG_LEVEL 6 /* as comp_algorithm=auto */
#define FEW_PAGES    10000u
#define SAMPLE_PAGES 896u

static const unsigned chains[] = {4, 5, 6, 8, 10, 12, 16};

#define NR_CHAINS (sizeof chains / sizeof chains[0])

struct pages {
  uint8_t *data;
  size_t nr;
};

struct result {
  uint64_t lz4_bytes, auto_bytes;
};

static struct pages
pages_read (const char *name)
{
  struct pages p = {0};
  FILE *fp = fopen (name, "rb");

  if (fp == NULL || fseek (fp, 0, SEEK_END) == -1)
    err (1, "%s", name);
  p.nr = ftell (fp) / ZSPAGE_PAGE_SIZE;
  rewind (fp);
  p.data = malloc (p.nr * ZSPAGE_PAGE_SIZE);
  if (p.data == NULL || fread (p.data, ZSPAGE_PAGE_SIZE, p.nr, fp) != p.nr ||
      p.nr == 0)
    errx (1, "%s: cannot be read, or has no page", name);
  fclose (fp);
  return p;
}

/* The store's own dictionary, of a sample of the pages. */
static struct dictionary *
train (const struct pages *p, size_t nr, int level)
{
  size_t n = nr < SAMPLE_PAGES ? nr : SAMPLE_PAGES, i, len;
  uint8_t *sample = malloc (n * ZSPAGE_PAGE_SIZE);
  uint8_t *bytes = malloc (DICTIONARY_TRAINED);
  struct dictionary *d = NULL;
  const char *why;

  if (sample == NULL || bytes == NULL)
    errx (1, "out of memory");
  for (i = 0; i < n; ++i)
    memcpy (sample + i * ZSPAGE_PAGE_SIZE,
            p->data + i * nr / n * ZSPAGE_PAGE_SIZE, ZSPAGE_PAGE_SIZE);
  len = dictionary_train (sample, n, bytes);
  if (len && dictionary_create (bytes, len, level, &d, &why) < 0)
    errx (1, "dictionary: %s", why);
  free (sample);
  free (bytes);
  return d;
}

static uint64_t
compacted (struct store *store)
{
  struct store_stats stats;

  store_compact (store);
  store_stats (store, &stats);
  return stats.mem_used_total;
}

static void
recompress (struct store *store)
{
  const struct store_recompress how = {0};
  uint64_t at = 0;
  unsigned n;

  if (store_recompress_begin (store) < 0)
    errx (1, "out of memory");
  do
    n = SAMPLE_PAGES;
  while (store_recompress_slice (store, &how, &at, &n));
  store_recompress_end (store);
}

static struct result
measure (const struct pages *p, size_t nr, unsigned chain,
         struct codec_pool *fast, struct codec_pool *strong)
{
  const struct store_config config = {
    .name = "layout",
    .disksize = (uint64_t) nr * ZSPAGE_PAGE_SIZE,
    .chain_size = chain,
    .codec = fast,
    .strong = strong,
  };
  struct dictionary *dictionary;
  struct result result;
  struct store *store;

  if (store_create (&config, &store) < 0 ||
      store_write (store, p->data, config.disksize, 0) < 0)
    errx (1, "%zu pages cannot be stored", nr);
  result.lz4_bytes = compacted (store);
  dictionary = train (p, nr, store_dictionary_level (store));
  if (dictionary && store_dictionary_add (store, dictionary) < 0)
    errx (1, "the dictionary is not taken");
  recompress (store);
  result.auto_bytes = compacted (store);
  store_destroy (store);
  return result;
}

static void
print (const char *name, size_t nr, const char *what, const uint64_t *bytes)
{
  size_t i;

  printf ("%-20.20s %8zu %-5s", name, nr, what);
  for (i = 0; i < NR_CHAINS; ++i)
    printf (" %9.1f", bytes[i] / 1e6);
  putchar ('\n');
}

int
main (int argc, char *argv[])
{
  struct codec_pool *fast, *strong;
  char **args = usage_arguments (argc, argv, 1, argc,
                                 "usage: layout-bench FILE...\n"
                                 "Each FILE holds pages of 4096 bytes.\n");
  size_t i, k;

  if (codec_pool_create (CODEC_LZ4, 1, 1, &fast) < 0 ||
      codec_pool_create (CODEC_ZSTD, STRONG_LEVEL, 1, &strong) < 0)
    errx (1, "out of memory");
  printf ("# MB of zspages, by zspage_chain_size\n%-20s %8s %-5s", "pages",
          "nr", "");
  for (k = 0; k < NR_CHAINS; ++k)
    printf (" %9u", chains[k]);
  putchar ('\n');
  for (; *args; ++args) {
    struct pages p = pages_read (*args);
    const char *name = strrchr (*args, '/');
    const size_t numbers[] = {p.nr, p.nr < FEW_PAGES ? p.nr : FEW_PAGES};

    for (i = 0; i < 2; ++i) {
      uint64_t lz4[NR_CHAINS], automatic[NR_CHAINS];

      for (k = 0; k < NR_CHAINS; ++k) {
        struct result r = measure (&p, numbers[i], chains[k], fast, strong);

        lz4[k] = r.lz4_bytes;
        automatic[k] = r.auto_bytes;
      }
      print (name ? name + 1 : *args, numbers[i], "lz4", lz4);
      print (name ? name + 1 : *args, numbers[i], "auto", automatic);
    }
    free (p.data);
  }
  codec_pool_destroy (fast);
  codec_pool_destroy (strong);
  return 0;
}
