/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of this server; see device.h. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "device.h"
#include "dictionary-file.h"
#include "feeder.h"
#include "state-dir.h"

/* Single pages kept, in each device, for when the kernel refuses memory. */
#define RESERVE_PAGES      16
#define RESERVE_PAGES_SWAP 512

/* Slots [0, nr_devices) are set before nr_devices says so, and stay. */
static struct device *devices[MAX_DEVICES];
static _Atomic size_t nr_devices;

/* Guards making a device, and the codecs. */
static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;
static struct codec_pool *codecs[MAX_DEVICES], *dense, *strong;
static size_t nr_codecs;

static struct zs_budget budget;
static struct headroom *headroom;
static struct crew *crew;

/* The codec pool for this codec and level: one for all who want the same;
 * *is_new: it is the first one's.
 */
static int
codec_find (enum codec_id id, int level, struct codec_pool **pool, bool *is_new)
{
  size_t i;
  int r;

  for (i = 0; i < nr_codecs; ++i) {
    *pool = codecs[i];
    if (codec_pool_id (*pool) == id && codec_pool_level (*pool) == level)
      return 0;
  }
  *is_new = true;
  r = codec_pool_create (id, level, 0, pool);
  if (r < 0)
    return r;
  codecs[nr_codecs++] = *pool;
  return 0;
}

/* Make room in the devices, one after the other, until there is some. */
static bool
room_elsewhere (void *opaque, bool memory_is_refused)
{
  size_t i, n = devices_nr ();

  (void) opaque;
  for (i = 0; i < n; ++i)
    if (store_make_room (devices[i]->store, memory_is_refused))
      return true;
  return false;
}

/* The codecs of a device.  make_lock is held. */
static int
codecs_choose (const struct device_config *config, struct store_config *sc)
{
  int r = codec_find (config->codec, config->params.level, &sc->codec,
                      &sc->counts_codec);

  if (r < 0 || !config->is_auto)
    return r;
  sc->counts_strong = strong == NULL;
  if (dense == NULL)
    r = codec_pool_create (CODEC_ZSTD, AUTO_LEVEL_DENSE, 0, &dense);
  if (r == 0 && strong == NULL)
    r = codec_pool_create (CODEC_ZSTD, AUTO_LEVEL_STRONG, 1, &strong);
  sc->dense = dense;
  sc->strong = strong;
  return r;
}

static int
store_make (const struct device_config *config, struct store **store)
{
  char name[DEVICE_NAME_MAX + 8];
  struct store_config sc = {
    .name = name,
    .disksize = config->disksize,
    .mem_limit = config->mem_limit,
    .chain_size = config->chain_size,
    .is_locked = server_config.swap != SWAP_NO,
    .reserve_pages = server_config.swap ? RESERVE_PAGES_SWAP : RESERVE_PAGES,
    .ahead_pages = config->ahead / ZSPAGE_PAGE_SIZE,
    .hungry = feeder_wake,
    .budget = &budget,
    .headroom = headroom,
    .crew = crew,
    .counts_crew = devices_nr () == 0,
    .room_elsewhere = room_elsewhere,
    .has_checks = config->checksum,
    .progress = state_dir_progress,
    .progress_opaque = (void *) config->name,
  };
  struct state_file file;
  int r = codecs_choose (config, &sc);

  snprintf (name, sizeof name, "zspage:%s", config->name);
  if (r == 0 && server_config.state) {
    if (state_dir_open (config, &file) == -1)
      return -EIO;
    sc.file = &file;
  }
  if (r == 0)
    r = store_create (&sc, store);
  if (r < 0) {
    errno = -r;
    nbdkit_error ("device %s of %" PRIu64 " bytes: cannot be made: %m",
                  config->name, config->disksize);
    return r;
  }
  if (sc.file && !file.is_new)
    state_dir_tell (config->name, *store);
  return 0;
}

/* Make a device.  make_lock is held.  -ENOMEM: after nbdkit_error. */
static int
device_make (const struct device_config *config)
{
  struct device *d = calloc (1, sizeof *d);
  size_t n = atomic_load_explicit (&nr_devices, memory_order_relaxed);

  if (d == NULL) {
    nbdkit_error ("device %s: out of memory", config->name);
    return -ENOMEM;
  }
  if (store_make (config, &d->store) < 0 ||
      (config->params.dict &&
       dictionary_file_load (config->params.dict, config->name, d->store) <
         0)) {
    store_destroy (d->store);
    free (d);
    return -ENOMEM;
  }
  d->config = *config;
  /* What an earlier client wrote is for reset_on_disconnect too. */
  d->is_written = store_recovered (d->store).pages > 0;
  pthread_mutex_init (&d->clients_lock, NULL);
  pthread_cond_init (&d->reset_ended, NULL);
  devices[n] = d;
  atomic_store_explicit (&nr_devices, n + 1, memory_order_release);
  return 0;
}

static struct device *
find (const char *name)
{
  size_t i, n = devices_nr ();

  for (i = 0; i < n; ++i)
    if (strcmp (devices[i]->config.name, name) == 0)
      return devices[i];
  return NULL;
}

/* A device that the server before made on demand, or one that is no longer
 * configured.  make_lock is held.
 */
static int
device_found (void *opaque, const char *name)
{
  const struct server_config *config = opaque;
  struct device_config c = config->defaults;

  if (find (name))
    return 0;
  if (!config->on_demand) {
    nbdkit_error ("state=%s: there is a file of device %s, which is not "
                  "configured; its memory is not given back until it is "
                  "removed",
                  config->state, name);
    return 0;
  }
  if (devices_nr () == config->max_devices) {
    nbdkit_error ("state=%s: there are files of more devices than "
                  "max_devices=%u; %s is left alone",
                  config->state, config->max_devices, name);
    return 0;
  }
  strcpy (c.name, name);
  /* It said what is wrong; the others are not to suffer for it. */
  device_make (&c);
  return 0;
}

int
devices_create (const struct server_config *config)
{
  uint64_t limit = config->total_mem_limit;
  size_t i;
  int r = headroom_create ("", &headroom);

  if (r == 0)
    r = crew_create (0, store_crew_bytes (), &crew);
  if (r < 0) {
    nbdkit_error ("out of memory");
    return -1;
  }
  if (config->state) {
    if (state_dir_check (config) == -1)
      return -1;
    state_dir_check_room (config);
  }
  atomic_store (&budget.limit,
                limit / ZSPAGE_PAGE_SIZE + (limit % ZSPAGE_PAGE_SIZE != 0));
  pthread_mutex_lock (&make_lock);
  for (i = 0; r == 0 && i < config->nr_devices; ++i)
    r = device_make (&config->devices[i]);
  if (r == 0 && config->nr_devices == 0 && !config->on_demand)
    r = device_make (&config->defaults);
  if (r == 0 && config->state)
    r = state_dir_for_each (device_found, (void *) config);
  pthread_mutex_unlock (&make_lock);
  return r == 0 ? 0 : -1;
}

void
devices_after_fork (void)
{
  size_t i;
  int r = crew_start (crew);

  if (r < 0) {
    errno = -r;
    nbdkit_error ("fewer threads than there could be compress large writes, as "
                  "no more can be started: %m");
  }
  for (i = 0; server_config.state && i < devices_nr (); ++i) {
    store_set_pid (devices[i]->store);
    /* What was recovered, but is not used yet, could be swapped out. */
    if (server_config.swap != SWAP_NO)
      store_map (devices[i]->store);
  }
}

void
devices_stop (void)
{
  crew_stop (crew);
}

void
devices_destroy (void)
{
  size_t i;

  for (i = 0; i < devices_nr (); ++i) {
    store_destroy (devices[i]->store);
    pthread_mutex_destroy (&devices[i]->clients_lock);
    pthread_cond_destroy (&devices[i]->reset_ended);
    free (devices[i]);
  }
  atomic_store (&nr_devices, 0);
  for (i = 0; i < nr_codecs; ++i)
    codec_pool_destroy (codecs[i]);
  nr_codecs = 0;
  codec_pool_destroy (dense);
  codec_pool_destroy (strong);
  dense = strong = NULL;
  crew_destroy (crew);
  crew = NULL;
  headroom_destroy (headroom);
  headroom = NULL;
}

size_t
devices_nr (void)
{
  return atomic_load_explicit (&nr_devices, memory_order_acquire);
}

struct device *
devices_get (size_t i)
{
  return devices[i];
}

int
devices_find (const char *name, enum device_find how, struct device **device)
{
  struct device_config config;
  int r = 0;

  *device = find (name);
  if (*device)
    return 0;
  if (!server_config.on_demand || how == DEVICE_FIND)
    return -ENOENT;
  if (how == DEVICE_MAY_NOT_MAKE)
    return -EACCES;

  pthread_mutex_lock (&make_lock);
  *device = find (name);
  if (*device == NULL) {
    config = server_config.defaults;
    strcpy (config.name, name);
    r = devices_nr () >= server_config.max_devices ? -ENFILE
                                                   : device_make (&config);
    if (r == 0)
      *device = find (name);
  }
  pthread_mutex_unlock (&make_lock);
  return r;
}

void
devices_names (char *buf, size_t size)
{
  size_t i, n = devices_nr (), used = 0;

  buf[0] = '\0';
  for (i = 0; i < n && used + DEVICE_NAME_MAX + 8 < size; ++i)
    used += snprintf (buf + used, size - used, "%s%s", i ? ", " : "",
                      devices[i]->config.name);
  if (i < n)
    snprintf (buf + used, size - used, ", ...");
}

/* Clients that come meanwhile wait until it is done, as what they write must
 * not be forgotten.
 */
static int
device_reset_begin (void *opaque)
{
  struct device *d = opaque;
  int r = -EBUSY;

  pthread_mutex_lock (&d->clients_lock);
  if (d->nr_clients == 0 && !d->is_resetting) {
    d->is_resetting = true;
    r = 0;
  }
  pthread_mutex_unlock (&d->clients_lock);
  return r;
}

static void
device_reset_end (void *opaque)
{
  struct device *d = opaque;

  pthread_mutex_lock (&d->clients_lock);
  d->is_resetting = false;
  pthread_cond_broadcast (&d->reset_ended);
  pthread_mutex_unlock (&d->clients_lock);
}

struct stats_device
device_stats (const struct device *device)
{
  return (struct stats_device){
    .name = device->config.name,
    .store = device->store,
    .comp_algorithm =
      device->config.is_auto ? "auto" : codec_name (device->config.codec),
    .level = device->config.params.level,
    .recomp_level = device->config.is_auto ? AUTO_LEVEL_STRONG : 0,
    .nr_clients =
      atomic_load_explicit (&device->nr_clients, memory_order_relaxed),
    .reset_begin = device_reset_begin,
    .reset_end = device_reset_end,
    .opaque = (void *) device,
  };
}

struct zs_budget *
devices_budget (void)
{
  return &budget;
}
