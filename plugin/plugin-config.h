/* SPDX-License-Identifier: BSD-3-Clause */
/* The options, as nbdkit hands them to the plugin.
 *
 * Keys of a device, before the first device=NAME, are defaults; after it they
 * belong to that device.  Keys of the server come before the first.
 */
#ifndef PLUGIN_CONFIG_H
#define PLUGIN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "algorithm-params.h"
#include "codec.h"
#include "export-name.h"
#include "swap.h"

/* Ids that one device's allow_uid, or allow_gid, may list. */
#define MAX_ALLOWED 16

struct device_config {
  char name[DEVICE_NAME_MAX + 1];
  uint64_t disksize; /* 0: not given */
  uint64_t mem_limit;
  enum codec_id codec;
  bool is_auto; /* dictionaries are trained, and pages recompressed */
  struct algorithm_params params;
  unsigned chain_size;
  bool has_ahead;
  uint64_t ahead; /* bytes populated ahead of need; 0: none */
  bool checksum;  /* of each page, as it is stored */
  bool exclusive;
  bool reset_on_disconnect;
  /* Who may connect, by the credentials of a unix socket; all, if none. */
  uid_t allow_uid[MAX_ALLOWED];
  gid_t allow_gid[MAX_ALLOWED];
  unsigned nr_allow_uid, nr_allow_gid;
  bool allow_is_inherited; /* what is said of it here replaces it */
};

#define MAX_DEVICES         1024u
#define MAX_DEVICES_DFLT    64u
#define MAX_STATS_SOCKETS   4u
#define AHEAD_SWAP_DFLT     (UINT64_C (4) << 20) /* with swap=true; else 0 */
#define AHEAD_MAX           (UINT64_C (1) << 30)
#define COMPACT_MS_DFLT     5000u
#define RECOMPRESS_CPU_DFLT 10u /* percent of a processor */
#define STATS_MODE_DFLT     0600u

struct server_config {
  unsigned compact_interval_ms; /* 0: never */
  uint64_t total_mem_limit;     /* bytes; 0: none */
  unsigned recompress_cpu;      /* percent of a processor a device; 0: none */
  enum swap_mode swap;
  bool on_demand;
  unsigned max_devices; /* there may be with on_demand; 0: not given */
  char *stats[MAX_STATS_SOCKETS]; /* unix:PATH or tcp:HOST:PORT */
  unsigned nr_stats;
  unsigned stats_mode; /* of unix sockets */
  char *state;         /* absolute path of a directory; NULL: none */
  bool state_on_disk;

  struct device_config defaults; /* and those of devices on demand */
  struct device_config *devices; /* [nr_devices] */
  size_t nr_devices;
};

/* What was given, or defaults. */
extern struct server_config server_config;

/* nbdkit's callbacks: 0, or -1 after nbdkit_error. */
int zspage_config (const char *key, const char *value);
int zspage_config_complete (void);
extern const char zspage_config_help[];

void zspage_config_free (void);

#endif /* PLUGIN_CONFIG_H */
