/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: a table of keys, whose they are, and what each takes. */
#include <config.h>

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "duration.h"
#include "plugin-config.h"
#include "size-class.h"
#include "stats-address.h"
#include "zspage-format.h"

struct server_config server_config = {
  .compact_interval_ms = COMPACT_MS_DFLT,
  .recompress_cpu = RECOMPRESS_CPU_DFLT,
  .stats_mode = STATS_MODE_DFLT,
  .defaults = {.name = DEFAULT_DEVICE_NAME,
               .codec = CODEC_LZ4,
               .is_auto = true,
               .chain_size = ZS_CHAIN_DFLT},
};

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
parse_bool (const char *key, const char *value, bool *b)
{
  int r = nbdkit_parse_bool (value);

  if (r == -1) {
    nbdkit_error ("%s=%s: must be true or false", key, value);
    return -1;
  }
  *b = r;
  return 0;
}

/* Keys of a device. */

static int
parse_disksize (struct device_config *c, const char *key, const char *value)
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
  c->disksize = zspage_align_up (size, ZSPAGE_PAGE_SIZE);
  return 0;
}

static int
parse_mem_limit (struct device_config *c, const char *key, const char *value)
{
  return parse_size (key, value, &c->mem_limit);
}

static int
parse_comp_algorithm (struct device_config *c, const char *key,
                      const char *value)
{
  c->is_auto = strcmp (value, "auto") == 0;
  if (c->is_auto)
    c->codec = CODEC_LZ4;
  if (c->is_auto || codec_by_name (value, &c->codec))
    return 0;
  nbdkit_error ("%s=%s: unknown algorithm; allowed: auto, %s, %s", key, value,
                codec_name (CODEC_LZ4), codec_name (CODEC_ZSTD));
  return -1;
}

static int
parse_algorithm_params (struct device_config *c, const char *key,
                        const char *value)
{
  char why[160];

  if (algorithm_params_parse (value, &c->params, why, sizeof why) == 0)
    return 0;
  nbdkit_error ("%s: %s", key, why);
  return -1;
}

static int
parse_recompress_cpu (struct server_config *c, const char *key,
                      const char *value)
{
  unsigned n;

  if (nbdkit_parse_unsigned (key, value, &n) == -1)
    return -1;
  if (n > 100) {
    nbdkit_error ("%s=%s: percent of one processor: 0 to 100", key, value);
    return -1;
  }
  c->recompress_cpu = n;
  return 0;
}

static int
parse_chain_size (struct device_config *c, const char *key, const char *value)
{
  unsigned n;

  if (nbdkit_parse_unsigned (key, value, &n) == 0 && n >= ZS_MIN_CHAIN &&
      n <= ZS_MAX_CHAIN) {
    c->chain_size = n;
    return 0;
  }
  nbdkit_error ("%s=%s: must be a number of pages from %u to %u", key, value,
                ZS_MIN_CHAIN, ZS_MAX_CHAIN);
  return -1;
}

static int
parse_ahead (struct device_config *c, const char *key, const char *value)
{
  if (parse_size (key, value, &c->ahead) == -1)
    return -1;
  if (c->ahead > AHEAD_MAX) {
    nbdkit_error ("%s=%s: must be at most %" PRIu64 " bytes (1G), or 0", key,
                  value, AHEAD_MAX);
    return -1;
  }
  c->has_ahead = true;
  return 0;
}

static int
parse_exclusive (struct device_config *c, const char *key, const char *value)
{
  return parse_bool (key, value, &c->exclusive);
}

static int
parse_reset_on_disconnect (struct device_config *c, const char *key,
                           const char *value)
{
  return parse_bool (key, value, &c->reset_on_disconnect);
}

static int
parse_checksum (struct device_config *c, const char *key, const char *value)
{
  return parse_bool (key, value, &c->checksum);
}

/* A number, from 0 up, that is an id.  The highest is what the system calls
 * "no id".
 */
#define ID_MAX (UINT32_MAX - 1)

static bool
parse_id (const char *value, uint32_t *id)
{
  char *end;
  unsigned long n;

  if (*value < '0' || *value > '9')
    return false;
  errno = 0;
  n = strtoul (value, &end, 10);
  *id = n;
  return errno == 0 && *end == '\0' && n <= ID_MAX;
}

/* A device's own list does not add to the default. */
static void
allow_begin (struct device_config *c)
{
  if (c->allow_is_inherited)
    c->nr_allow_uid = c->nr_allow_gid = 0;
  c->allow_is_inherited = false;
}

static int
parse_allow_uid (struct device_config *c, const char *key, const char *value)
{
  const struct passwd *pw;
  uint32_t id;

  allow_begin (c);
  if (c->nr_allow_uid == MAX_ALLOWED) {
    nbdkit_error ("%s=%s: at most %d are allowed", key, value, MAX_ALLOWED);
    return -1;
  }
  if (!parse_id (value, &id)) {
    pw = getpwnam (value);
    if (pw == NULL) {
      nbdkit_error (
        "%s=%s: no such user; a user name or a number from 0 to %" PRIu32
        " is needed",
        key, value, ID_MAX);
      return -1;
    }
    id = pw->pw_uid;
  }
  c->allow_uid[c->nr_allow_uid++] = id;
  return 0;
}

static int
parse_allow_gid (struct device_config *c, const char *key, const char *value)
{
  const struct group *gr;
  uint32_t id;

  allow_begin (c);
  if (c->nr_allow_gid == MAX_ALLOWED) {
    nbdkit_error ("%s=%s: at most %d are allowed", key, value, MAX_ALLOWED);
    return -1;
  }
  if (!parse_id (value, &id)) {
    gr = getgrnam (value);
    if (gr == NULL) {
      nbdkit_error (
        "%s=%s: no such group; a group name or a number from 0 to %" PRIu32
        " is needed",
        key, value, ID_MAX);
      return -1;
    }
    id = gr->gr_gid;
  }
  c->allow_gid[c->nr_allow_gid++] = id;
  return 0;
}

/* Keys of the server. */

static int
parse_compact_interval (struct server_config *c, const char *key,
                        const char *value)
{
  if (duration_parse (value, &c->compact_interval_ms) == 0)
    return 0;
  nbdkit_error ("%s=%s: must be a time such as 500ms, 5s or 1m, or 0", key,
                value);
  return -1;
}

static int
parse_stats (struct server_config *c, const char *key, const char *value)
{
  struct stats_address address;
  char why[160];

  if (c->nr_stats == MAX_STATS_SOCKETS) {
    nbdkit_error ("%s=%s: at most %u are allowed", key, value,
                  MAX_STATS_SOCKETS);
    return -1;
  }
  if (stats_address_parse (value, &address, why, sizeof why) < 0) {
    nbdkit_error ("%s=%s: %s", key, value, why);
    return -1;
  }
  c->stats[c->nr_stats] = strdup (value);
  if (c->stats[c->nr_stats] == NULL) {
    nbdkit_error ("%s: %m", key);
    return -1;
  }
  c->nr_stats++;
  return 0;
}

static int
parse_stats_mode (struct server_config *c, const char *key, const char *value)
{
  char *end;
  unsigned long mode = strtoul (value, &end, 8);

  if (*value < '0' || *value > '7' || *end || mode > 0777) {
    nbdkit_error ("%s=%s: must be an octal mode from 0 to 0777", key, value);
    return -1;
  }
  c->stats_mode = mode;
  return 0;
}

static int
parse_total_mem_limit (struct server_config *c, const char *key,
                       const char *value)
{
  return parse_size (key, value, &c->total_mem_limit);
}

static int
parse_swap (struct server_config *c, const char *key, const char *value)
{
  int b;

  if (strcmp (value, "require") == 0) {
    c->swap = SWAP_REQUIRE;
    return 0;
  }
  b = nbdkit_parse_bool (value);
  if (b == -1) {
    nbdkit_error ("%s=%s: must be true, false or require", key, value);
    return -1;
  }
  c->swap = b ? SWAP_TRUE : SWAP_NO;
  return 0;
}

/* The server changes its directory later. */
static int
parse_state (struct server_config *c, const char *key, const char *value)
{
  if (*value == '\0') {
    nbdkit_error ("%s=: a directory is needed", key);
    return -1;
  }
  free (c->state);
  c->state = nbdkit_absolute_path (value);
  return c->state ? 0 : -1; /* it said so */
}

static int
parse_state_on_disk (struct server_config *c, const char *key,
                     const char *value)
{
  return parse_bool (key, value, &c->state_on_disk);
}

static int
parse_on_demand (struct server_config *c, const char *key, const char *value)
{
  return parse_bool (key, value, &c->on_demand);
}

static int
parse_max_devices (struct server_config *c, const char *key, const char *value)
{
  unsigned n;

  if (nbdkit_parse_unsigned (key, value, &n) == 0 && n >= 1 &&
      n <= MAX_DEVICES) {
    c->max_devices = n;
    return 0;
  }
  nbdkit_error ("%s=%s: must be a number from 1 to %u", key, value,
                MAX_DEVICES);
  return -1;
}

static int
parse_device (struct server_config *c, const char *key, const char *value)
{
  struct device_config *devices;
  size_t i;

  if (!device_name_is_valid (value)) {
    char printable[80];

    export_name_printable (value, printable, sizeof printable);
    nbdkit_error ("%s=%s: a name has 1 to %d characters of A-Z a-z 0-9 . _ -, "
                  "and is not that of a statistic",
                  key, printable, DEVICE_NAME_MAX);
    return -1;
  }
  for (i = 0; i < c->nr_devices; ++i) {
    if (strcmp (c->devices[i].name, value) == 0) {
      nbdkit_error ("%s=%s: there is a device of that name already", key,
                    value);
      return -1;
    }
  }
  if (c->nr_devices == MAX_DEVICES) {
    nbdkit_error ("%s=%s: at most %u devices are allowed", key, value,
                  MAX_DEVICES);
    return -1;
  }
  devices = realloc (c->devices, (i + 1) * sizeof *devices);
  if (devices == NULL) {
    nbdkit_error ("%s: %m", key);
    return -1;
  }
  c->devices = devices;
  c->nr_devices = i + 1;
  devices[i] = c->defaults;
  devices[i].allow_is_inherited = true;
  strcpy (devices[i].name, value);
  return 0;
}

static const struct {
  const char *key;
  int (*device) (struct device_config *c, const char *key, const char *value);
  int (*server) (struct server_config *c, const char *key, const char *value);
} options[] = {
  {"disksize", .device = parse_disksize},
  {"mem_limit", .device = parse_mem_limit},
  {"comp_algorithm", .device = parse_comp_algorithm},
  {"algorithm_params", .device = parse_algorithm_params},
  {"zspage_chain_size", .device = parse_chain_size},
  {"ahead", .device = parse_ahead},
  {"checksum", .device = parse_checksum},
  {"exclusive", .device = parse_exclusive},
  {"allow_uid", .device = parse_allow_uid},
  {"allow_gid", .device = parse_allow_gid},
  {"reset_on_disconnect", .device = parse_reset_on_disconnect},
  {"compact_interval", .server = parse_compact_interval},
  {"stats", .server = parse_stats},
  {"stats_mode", .server = parse_stats_mode},
  {"total_mem_limit", .server = parse_total_mem_limit},
  {"on_demand", .server = parse_on_demand},
  {"max_devices", .server = parse_max_devices},
  {"recompress_cpu", .server = parse_recompress_cpu},
  {"state", .server = parse_state},
  {"state_on_disk", .server = parse_state_on_disk},
  {"swap", .server = parse_swap},
};

#define NR_OPTIONS (sizeof options / sizeof options[0])

int
zspage_config (const char *key, const char *value)
{
  struct server_config *c = &server_config;
  size_t i;

  if (strcmp (key, "device") == 0)
    return parse_device (c, key, value);
  for (i = 0; i < NR_OPTIONS; ++i) {
    if (strcmp (key, options[i].key) != 0)
      continue;
    if (options[i].device)
      return options[i].device (c->nr_devices ? &c->devices[c->nr_devices - 1]
                                              : &c->defaults,
                                key, value);
    if (c->nr_devices) {
      nbdkit_error ("%s=%s: is of the whole server, so it must come before "
                    "the first device=",
                    key, value);
      return -1;
    }
    return options[i].server (c, key, value);
  }
  nbdkit_error ("unknown parameter '%s'; nbdkit zspage --help lists them", key);
  return -1;
}

/* Devices on demand read it when nbdkit has changed its directory. */
static int
dict_make_absolute (struct algorithm_params *params)
{
  char *name = strndup (params->dict, params->dict_len);
  char *path = name ? nbdkit_absolute_path (name) : NULL;

  free (name);
  if (path == NULL)
    return -1; /* it said so */
  params->dict = path;
  params->dict_len = strlen (path);
  return 0;
}

/* Check what depends on several keys, and fill in what does. */
static int
device_complete (struct device_config *c)
{
  struct codec_level_range range = codec_levels (c->codec);

  if (c->disksize == 0) {
    nbdkit_error ("device %s: its size is missing: disksize=4G", c->name);
    return -1;
  }
  if (!c->has_ahead)
    c->ahead = server_config.swap ? AHEAD_SWAP_DFLT : 0;
  if (!c->params.has_level)
    c->params.level = range.dflt;
  if (c->params.level < range.min || c->params.level > range.max) {
    nbdkit_error ("algorithm_params: level=%d: %s takes %d to %d",
                  c->params.level, codec_name (c->codec), range.min, range.max);
    return -1;
  }
  if (c->params.dict && c->codec != CODEC_ZSTD && !c->is_auto) {
    nbdkit_error ("algorithm_params: dict=%.*s: %s takes no dictionary; "
                  "zstd and auto do",
                  (int) c->params.dict_len, c->params.dict,
                  codec_name (c->codec));
    return -1;
  }
  return c->params.dict ? dict_make_absolute (&c->params) : 0;
}

int
zspage_config_complete (void)
{
  struct server_config *c = &server_config;
  size_t i;

  for (i = 0; i < c->nr_devices; ++i)
    if (device_complete (&c->devices[i]) == -1)
      return -1;
  if (c->state_on_disk && c->state == NULL) {
    nbdkit_error ("state_on_disk=true: is of the directory that state= names, "
                  "which is missing");
    return -1;
  }
  if (c->max_devices > 0 && !c->on_demand) {
    nbdkit_error ("max_devices=%u: is of devices that are made on demand: "
                  "on_demand=true is missing",
                  c->max_devices);
    return -1;
  }
  if (c->max_devices == 0)
    c->max_devices = MAX_DEVICES_DFLT;
  if (c->on_demand && c->nr_devices > c->max_devices) {
    nbdkit_error ("max_devices=%u: there are %zu devices already",
                  c->max_devices, c->nr_devices);
    return -1;
  }
  /* Without device= there is one, or those that are asked for. */
  if (c->nr_devices == 0 || c->on_demand) {
    if (c->defaults.disksize == 0) {
      nbdkit_error ("the size of the device is missing: nbdkit zspage 4G");
      return -1;
    }
    if (device_complete (&c->defaults) == -1)
      return -1;
  }
  return 0;
}

void
zspage_config_free (void)
{
  unsigned i;

  for (i = 0; i < server_config.nr_stats; ++i)
    free (server_config.stats[i]);
  server_config.nr_stats = 0;
  free (server_config.state);
  server_config.state = NULL;
  free (server_config.devices);
  server_config.devices = NULL;
  server_config.nr_devices = 0;
}
