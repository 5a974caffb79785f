/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin as nbdkit sees it: who is called when. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "device.h"
#include "io.h"
#include "plugin-config.h"
#include "service.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

/* Before the fork, where errors are seen by whoever started the server. */
static int
zspage_get_ready (void)
{
  if (devices_create (&server_config) == -1 ||
      swap_prepare (server_config.swap) == -1)
    return -1;
  return service_listen (&server_config);
}

/* Threads may be started from here on. */
static int
zspage_after_fork (void)
{
  if (swap_lock (server_config.swap) == -1)
    return -1;
  devices_after_fork ();
  return service_start (&server_config);
}

static void
zspage_cleanup (void)
{
  service_stop ();
  devices_stop ();
}

static void
zspage_unload (void)
{
  service_stop ();
  devices_destroy ();
  zspage_config_free ();
}

static void
zspage_dump_plugin (void)
{
  int i;

  printf ("zspage_comp_algorithms=");
  for (i = 0; i < CODEC_COUNT; ++i)
    printf ("%s%s", i ? "," : "", codec_name (i));
  printf ("\nzspage_chain_size=%u-%u\n", ZS_MIN_CHAIN, ZS_MAX_CHAIN);
  printf ("zspage_max_disksize=%llu\n",
          (unsigned long long) ZSPAGE_MAX_DISKSIZE);
}

/* The export "" is the device called default, where there is one.  Who may not
 * open a device does not learn of it.
 */
static int
zspage_list_exports (int readonly, int is_tls, struct nbdkit_exports *exports)
{
  size_t i, n = devices_nr ();
  int r = 0;

  (void) readonly;
  (void) is_tls;
  for (i = 0; r == 0 && i < n; ++i) {
    const struct device *device = devices_get (i);
    struct stats_device sd = device_stats (device);
    const char *name = sd.name;
    char *text;

    /* Nor would it be let in. */
    if (!access_is_allowed (&device->config))
      continue;
    if (strcmp (name, DEFAULT_DEVICE_NAME) == 0)
      name = "";
    text = stats_describe (&sd);
    r = nbdkit_add_export (exports, name, text);
    free (text);
  }
  return r;
}

static const char *
zspage_default_export (int readonly, int is_tls)
{
  (void) readonly;
  (void) is_tls;
  return "";
}

static struct nbdkit_plugin plugin = {
  .name = "zspage",
  .longname = "nbdkit compressed RAM (zspage) plugin",
  .version = PACKAGE_VERSION,
  .description = "Serves compressed RAM as a block device, to swap on.",
  .unload = zspage_unload,
  .config = zspage_config,
  .config_complete = zspage_config_complete,
  .config_help = zspage_config_help,
  .magic_config_key = "disksize",
  .dump_plugin = zspage_dump_plugin,
  .get_ready = zspage_get_ready,
  .after_fork = zspage_after_fork,
  .cleanup = zspage_cleanup,
  .list_exports = zspage_list_exports,
  .default_export = zspage_default_export,
  .open = zspage_open,
  .close = zspage_close,
  .get_size = zspage_get_size,
  .export_description = zspage_export_description,
  .block_size = zspage_block_size,
  .can_write = zspage_can_write,
  .can_flush = zspage_can_flush,
  .can_trim = zspage_can_trim,
  .can_zero = zspage_can_zero,
  .can_fast_zero = zspage_can_fast_zero,
  .can_fua = zspage_can_fua,
  .can_cache = zspage_can_cache,
  .can_extents = zspage_can_extents,
  .can_multi_conn = zspage_can_multi_conn,
  .is_rotational = zspage_is_rotational,
  .pread = zspage_pread,
  .pwrite = zspage_pwrite,
  .flush = zspage_flush,
  .trim = zspage_trim,
  .zero = zspage_zero,
  .extents = zspage_extents,
  .errno_is_preserved = 0,
};

NBDKIT_REGISTER_PLUGIN (plugin)
