/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of this server.
 *
 * Devices are made, and never go before the server does, so a pointer to one
 * stays good; new ones may appear at any time if that is allowed.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin-config.h"
#include "stats.h"
#include "store.h"

struct device {
  struct device_config config;
  struct store *store;

  /* Guards who is attached; see access.h. */
  pthread_mutex_t clients_lock;
  pthread_cond_t reset_ended;
  bool is_resetting;           /* no client comes in */
  _Atomic unsigned nr_clients; /* changed with the lock held */
  _Atomic bool is_written;     /* since the last client went */
  char peer[128];              /* who they are, if the device is exclusive */

  /* Seconds of CLOCK_MONOTONIC before which no more is logged. */
  _Atomic int64_t full_quiet_until, damage_quiet_until;
};

/* Make the devices that were configured.  0, or -1 after nbdkit_error. */
int devices_create (const struct server_config *config);
void devices_destroy (void);

/* The server has the PID now with which it goes on, and what it locks is locked;
 * it may start threads.
 */
void devices_after_fork (void);

/* No request will come any more: end the threads. */
void devices_stop (void);

/* Any thread may ask; numbers stay. */
size_t devices_nr (void);
struct device *devices_get (size_t i);

enum device_find {
  DEVICE_FIND,         /* only if it is there: looking makes no devices */
  DEVICE_MAKE,         /* or make it, if devices are made on demand */
  DEVICE_MAY_NOT_MAKE, /* the same, for whom none is made */
};

/* The device of that name, which is valid.  Returns 0; or -ENOENT: there is
 * none.  -EACCES: it would have to be made, and may not.  -ENFILE: there are as
 * many as are allowed.  -ENOMEM: after nbdkit_error.
 */
int devices_find (const char *name, enum device_find how,
                  struct device **device);

/* The names that there are, for messages; at most size bytes. */
void devices_names (char *buf, size_t size);

/* What the statistics of a device are about. */
struct stats_device device_stats (const struct device *device);

/* total_mem_limit, and what is used of it. */
struct zs_budget *devices_budget (void);

#endif /* DEVICE_H */
