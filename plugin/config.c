/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: a table of keys, and what each takes. */
#include <config.h>

#include <inttypes.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "plugin-config.h"
#include "zspage-format.h"

struct device_config plugin_config = {
  .codec = CODEC_LZ4,
  .chain_size = ZS_CHAIN_DFLT,
};

const char zspage_config_help[] =
  "[disksize=]<SIZE>  (required) Size of the device, such as 4G; "
  "uncompressed.\n"
  "mem_limit=<SIZE>              Most memory for compressed pages (default:\n"
  "                              0, no limit).  Writes beyond it fail: "
  "ENOSPC.\n"
  "comp_algorithm=lz4|zstd       How pages are compressed (default: lz4).\n"
  "algorithm_params=level=<N>    lz4: acceleration, 1 (default) to 65537.\n"
  "                              zstd: level, up to 22 (default: 3).\n"
  "zspage_chain_size=<4..16>     Most pages in a zspage (default: 8).";

static int
parse_size (const char *key, const char *value, uint64_t *size)
{
  int64_t n = nbdkit_parse_size (value);

  if (n == -1) {
    nbdkit_error ("%s=%s: a size is needed, such as 512M or 4G", key, value);
    return -1;
  }
  *size = n;
  return 0;
}

static int
parse_disksize (const char *key, const char *value)
{
  uint64_t size;

  if (parse_size (key, value, &size) == -1)
    return -1;
  if (size == 0 || size > ZSPAGE_MAX_DISKSIZE) {
    nbdkit_error ("%s=%s: must be from 1 to %" PRIu64 " bytes (16T)", key,
                  value, ZSPAGE_MAX_DISKSIZE);
    return -1;
  }
  /* As zram does. */
  plugin_config.disksize = zspage_align_up (size, ZSPAGE_PAGE_SIZE);
  return 0;
}

static int
parse_mem_limit (const char *key, const char *value)
{
  return parse_size (key, value, &plugin_config.mem_limit);
}

static int
parse_comp_algorithm (const char *key, const char *value)
{
  if (codec_by_name (value, &plugin_config.codec))
    return 0;
  nbdkit_error ("%s=%s: unknown algorithm; allowed: %s, %s", key, value,
                codec_name (CODEC_LZ4), codec_name (CODEC_ZSTD));
  return -1;
}

static int
parse_algorithm_params (const char *key, const char *value)
{
  char why[160];

  if (algorithm_params_parse (value, &plugin_config.params, why, sizeof why) ==
      0)
    return 0;
  nbdkit_error ("%s: %s", key, why);
  return -1;
}

static int
parse_chain_size (const char *key, const char *value)
{
  unsigned n;

  if (nbdkit_parse_unsigned (key, value, &n) == 0 && n >= ZS_MIN_CHAIN &&
      n <= ZS_MAX_CHAIN) {
    plugin_config.chain_size = n;
    return 0;
  }
  nbdkit_error ("%s=%s: must be a number of pages from %u to %u", key, value,
                ZS_MIN_CHAIN, ZS_MAX_CHAIN);
  return -1;
}

static const struct option {
  const char *key;
  int (*parse) (const char *key, const char *value);
} options[] = {
  {"disksize", parse_disksize},
  {"mem_limit", parse_mem_limit},
  {"comp_algorithm", parse_comp_algorithm},
  {"algorithm_params", parse_algorithm_params},
  {"zspage_chain_size", parse_chain_size},
};

#define NR_OPTIONS (sizeof options / sizeof options[0])

int
zspage_config (const char *key, const char *value)
{
  size_t i;

  for (i = 0; i < NR_OPTIONS; ++i)
    if (strcmp (key, options[i].key) == 0)
      return options[i].parse (key, value);
  nbdkit_error ("unknown parameter '%s'; nbdkit zspage --help lists them", key);
  return -1;
}

int
zspage_config_complete (void)
{
  struct device_config *c = &plugin_config;
  struct codec_level_range range = codec_levels (c->codec);

  if (c->disksize == 0) {
    nbdkit_error ("the size of the device is missing: nbdkit zspage 4G");
    return -1;
  }
  if (!c->params.has_level)
    c->params.level = range.dflt;
  if (c->params.level < range.min || c->params.level > range.max) {
    nbdkit_error ("algorithm_params: level=%d: %s takes %d to %d",
                  c->params.level, codec_name (c->codec), range.min, range.max);
    return -1;
  }
  return 0;
}
