/* SPDX-License-Identifier: BSD-3-Clause */
/* The housekeeper, the feeder and the statistics sockets, and their life: sockets
 * are opened before the fork, where errors are seen; the threads start after it.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "device.h"
#include "feeder.h"
#include "housekeeper.h"
#include "http.h"
#include "service.h"
#include "stats-address.h"
#include "swap.h"

struct listener {
  struct stats_address address;
  int fd; /* -1 once http has it */
  struct http *http;
};

static struct listener listeners[MAX_STATS_SOCKETS];
static unsigned nr_listeners;
static struct housekeeper *hk;

static size_t
all_devices_nr (void *opaque)
{
  (void) opaque;
  return devices_nr ();
}

static struct store *
device_store (void *opaque, size_t i)
{
  (void) opaque;
  return devices_get (i)->store;
}

static bool
device_has_dictionaries (void *opaque, size_t i)
{
  (void) opaque;
  return devices_get (i)->config.is_auto;
}

static void
in_background (void *opaque)
{
  (void) opaque;
  swap_may_reclaim (server_config.swap);
}

static void
say_trained (void *opaque, size_t i, unsigned generation, uint64_t bytes_before,
             uint64_t bytes_after)
{
  (void) opaque;
  nbdkit_debug (
    "device %s: dictionary trained: a sample of %llu bytes takes "
    "%llu; %s%u",
    devices_get (i)->config.name, (unsigned long long) bytes_before,
    (unsigned long long) bytes_after,
    generation ? "it is generation " : "it is not used: ", generation);
}

static struct stats_device
device_stats_at (void *opaque, size_t i)
{
  (void) opaque;
  return device_stats (devices_get (i));
}

static const char *
consequence (uint64_t used, uint64_t limit)
{
  return used < limit ? "at 100% writes fail" : "writes fail";
}

static void
warn_near_limit (void *opaque, size_t i, unsigned percent)
{
  const struct device *d = devices_get (i);
  struct store_stats s;

  (void) opaque;
  store_stats (d->store, &s);
  nbdkit_error ("device %s: %u%% of mem_limit reached: %llu of %llu bytes; %s",
                d->config.name, percent, (unsigned long long) s.mem_used_total,
                (unsigned long long) s.mem_limit,
                consequence (s.mem_used_total, s.mem_limit));
}

static void
warn_near_total_limit (void *opaque, unsigned percent)
{
  struct zs_budget *all = devices_budget ();
  unsigned long long used = atomic_load (&all->used) * ZSPAGE_PAGE_SIZE;
  unsigned long long limit = atomic_load (&all->limit) * ZSPAGE_PAGE_SIZE;

  (void) opaque;
  nbdkit_error ("all devices: %u%% of total_mem_limit reached: %llu of %llu "
                "bytes; %s",
                percent, used, limit, consequence (used, limit));
}

/* nbdkit exits without a word to its plugins when it cannot listen itself. */
static bool unlink_at_exit;

static void __attribute__ ((destructor)) at_exit (void)
{
  unsigned i;

  for (i = 0; unlink_at_exit && i < nr_listeners; ++i)
    stats_address_unlink (&listeners[i].address);
}

/* Of the processes of a fork one goes on, and will come to service_stop. */
static void
at_fork (void)
{
  unlink_at_exit = false;
}

int
service_listen (const struct server_config *config)
{
  struct listener *l;
  char why[160];
  unsigned i;

  for (i = 0; i < config->nr_stats; ++i) {
    l = &listeners[nr_listeners];
    if (stats_address_parse (config->stats[i], &l->address, why, sizeof why) <
        0) {
      nbdkit_error ("stats=%s: %s", config->stats[i], why);
      return -1;
    }
    l->fd = stats_address_listen (&l->address, config->stats_mode);
    if (l->fd < 0) {
      errno = -l->fd;
      nbdkit_error ("stats=%s: cannot listen there: %m", config->stats[i]);
      return -1;
    }
    if (!l->address.is_unix)
      nbdkit_debug ("statistics are served on port %u",
                    stats_address_port (l->fd));
    nr_listeners++;
  }
  if (nr_listeners > 0) {
    unlink_at_exit = true;
    pthread_atfork (NULL, at_fork, at_fork);
  }
  return 0;
}

static void
http_stop_all (void *opaque)
{
  unsigned i;

  (void) opaque;
  for (i = 0; i < nr_listeners; ++i)
    if (listeners[i].http)
      http_stop (listeners[i].http);
}

int
service_start (const struct server_config *config)
{
  const struct housekeeper_devices for_housekeeper = {
    .nr = all_devices_nr,
    .store = device_store,
    .has_dictionaries = device_has_dictionaries,
    .budget = devices_budget (),
    .recompress_cpu = config->recompress_cpu,
    .in_background = in_background,
    .heap_stays = config->swap != SWAP_NO,
    .trained = say_trained,
    .warn = warn_near_limit,
    .warn_all = warn_near_total_limit,
  };
  static const struct stats_devices for_stats = {
    .nr = all_devices_nr,
    .get = device_stats_at,
  };
  unsigned i;
  int r;

  r = housekeeper_create (config->compact_interval_ms, &for_housekeeper, &hk);

  if (r == 0)
    housekeeper_on_stop (hk, http_stop_all, NULL);
  for (i = 0; r == 0 && i < nr_listeners; ++i) {
    struct listener *l = &listeners[i];

    r = http_create (hk, &for_stats, l->fd, !l->address.is_unix, nr_listeners,
                     &l->http);
    l->fd = -1;
  }
  if (r == 0)
    r = housekeeper_start (hk);
  if (r == 0)
    r = feeder_start ();
  if (r < 0) {
    errno = -r;
    nbdkit_error ("cannot start the housekeeping: %m");
    return -1;
  }
  unlink_at_exit = false; /* service_stop does */
  return 0;
}

void
service_stop (void)
{
  unsigned i;

  /* While this server still listens, so that it is not another's socket. */
  for (i = 0; i < nr_listeners; ++i)
    stats_address_unlink (&listeners[i].address);
  feeder_stop ();
  housekeeper_stop (hk);
  housekeeper_destroy (hk);
  hk = NULL;
  for (i = 0; i < nr_listeners; ++i) {
    http_destroy (listeners[i].http);
    if (listeners[i].fd >= 0)
      close (listeners[i].fd);
  }
  nr_listeners = 0;
}
