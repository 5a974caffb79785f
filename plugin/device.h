/* SPDX-License-Identifier: BSD-3-Clause */
/* A device: its options, its store, and what was last said about it. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "algorithm-params.h"
#include "codec.h"
#include "export-name.h"
#include "stats.h"
#include "store.h"

struct device_config {
  uint64_t disksize; /* 0: not given */
  uint64_t mem_limit;
  enum codec_id codec;
  struct algorithm_params params;
  unsigned chain_size;
};

struct device {
  char name[DEVICE_NAME_MAX + 1];
  struct device_config config;
  struct codec_pool *codec;
  struct store *store;
  /* Seconds of CLOCK_MONOTONIC before which no more is logged. */
  _Atomic int64_t full_quiet_until, damage_quiet_until;
};

/* Make the devices; errors are told to nbdkit.  -1 on error, as in nbdkit. */
int devices_create (const struct device_config *config);
void devices_destroy (void);

/* NULL if there is none. */
struct device *device_by_name (const char *name);

/* What the statistics of a device are about. */
struct stats_device device_stats (const struct device *device);

#endif /* DEVICE_H */
