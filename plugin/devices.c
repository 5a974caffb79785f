/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of this server.  One for now, called default. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "device.h"

/* Single pages kept for when the kernel refuses memory. */
#define RESERVE_PAGES 16

static struct device the_device;

int
devices_create (const struct device_config *config)
{
  struct device *device = &the_device;
  struct store_config sc;
  int r;

  strcpy (device->name, DEFAULT_DEVICE_NAME);
  device->config = *config;
  r =
    codec_pool_create (config->codec, config->params.level, 0, &device->codec);
  if (r < 0) {
    errno = -r;
    nbdkit_error ("%s: contexts for level %d: %m", codec_name (config->codec),
                  config->params.level);
    return -1;
  }

  sc = (struct store_config){
    .name = "zspage",
    .disksize = config->disksize,
    .mem_limit = config->mem_limit,
    .chain_size = config->chain_size,
    .reserve_pages = RESERVE_PAGES,
    .codec = device->codec,
  };
  r = store_create (&sc, &device->store);
  if (r < 0) {
    errno = -r;
    nbdkit_error ("device %s: cannot reserve address space for %" PRIu64
                  " bytes: %m",
                  device->name, config->disksize);
    codec_pool_destroy (device->codec);
    device->codec = NULL;
    return -1;
  }
  return 0;
}

void
devices_destroy (void)
{
  store_destroy (the_device.store);
  codec_pool_destroy (the_device.codec);
  the_device.store = NULL;
  the_device.codec = NULL;
}

struct device *
device_by_name (const char *name)
{
  if (the_device.store && strcmp (name, the_device.name) == 0)
    return &the_device;
  return NULL;
}

struct stats_device
device_stats (const struct device *device)
{
  return (struct stats_device){
    .name = device->name,
    .store = device->store,
    .comp_algorithm = codec_name (device->config.codec),
    .level = device->config.params.level,
  };
}
