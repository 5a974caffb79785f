/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections and their requests.
 *
 * A client has either a device open, or one of its statistics: a small
 * read-only export, whose text is made in .open so that its size stays as it
 * was told.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "device.h"
#include "io.h"
#include "zspage-page.h"

/* The same complaint at most every so many seconds: a full device gets one
 * failing write after the other.
 */
#define QUIET_SECONDS 60

struct handle {
  struct device *device;
  char *text; /* of a statistics export; NULL: the device itself */
  size_t text_len;
};

/* The device that a client asks for; NULL after nbdkit_error. */
static struct device *
device_asked_for (const char *asked, struct export_name *name)
{
  struct device *device = NULL;
  char printable[80], names[1024];
  int r = export_name_parse (asked, name);

  if (r == 0)
    r = devices_find (name->device,
                      name->node ? DEVICE_FIND
                      : access_is_allowed (&server_config.defaults)
                        ? DEVICE_MAKE
                        : DEVICE_MAY_NOT_MAKE,
                      &device);
  if (r == 0)
    return device;
  if (r == -ENFILE)
    nbdkit_error ("device %s: there are %zu already, as many as max_devices "
                  "allows",
                  name->device, devices_nr ());
  else if (r == -EACCES)
    access_refuse (name->device, ", so none is made for it");
  else if (r == -ENOENT) {
    export_name_printable (asked, printable, sizeof printable);
    devices_names (names, sizeof names);
    nbdkit_error ("export '%s': no such export; devices: %s; each has "
                  "mm_stat, io_stat, classes and stats.json",
                  printable, names);
  }
  nbdkit_set_error (-r);
  return NULL;
}

void *
zspage_open (int readonly)
{
  const char *asked = nbdkit_export_name ();
  struct export_name name;
  struct device *device;
  struct handle *h;

  (void) readonly;
  if (asked == NULL)
    return NULL;
  device = device_asked_for (asked, &name);
  if (device == NULL)
    return NULL;
  h = calloc (1, sizeof *h);
  if (h == NULL)
    goto err;
  h->device = device;
  if ((name.node ? access_look (device) : access_attach (device)) == -1) {
    free (h);
    return NULL;
  }
  if (name.node) {
    struct stats_device sd = device_stats (device);

    h->text = name.node->read (&sd);
    if (h->text == NULL)
      goto err;
    h->text_len = strlen (h->text);
  }
  return h;

err:
  nbdkit_error ("opening export '%s': out of memory", name.device);
  nbdkit_set_error (ENOMEM);
  free (h);
  return NULL;
}

void
zspage_close (void *handle)
{
  struct handle *h = handle;

  if (h->text == NULL)
    access_detach (h->device);
  free (h->text);
  free (h);
}

int64_t
zspage_get_size (void *handle)
{
  struct handle *h = handle;

  return h->text ? (int64_t) h->text_len
                 : (int64_t) store_disksize (h->device->store);
}

const char *
zspage_export_description (void *handle)
{
  struct handle *h = handle;
  struct stats_device sd = device_stats (h->device);
  const char *description;
  char *text;

  if (h->text)
    return "statistics of a device; see nbdkit-zspage-plugin(1)";
  text = stats_describe (&sd);
  if (text == NULL)
    return NULL;
  description = nbdkit_strdup_intern (text);
  free (text);
  return description;
}

int
zspage_block_size (void *handle, uint32_t *minimum, uint32_t *preferred,
                   uint32_t *maximum)
{
  (void) handle;
  *minimum = 1;
  *preferred = ZSPAGE_PAGE_SIZE;
  *maximum = 32 * 1024 * 1024;
  return 0;
}

static int
is_device (void *handle)
{
  struct handle *h = handle;

  return h->text == NULL;
}

int
zspage_can_write (void *handle)
{
  return is_device (handle);
}

int
zspage_can_flush (void *handle)
{
  return is_device (handle);
}

int
zspage_can_trim (void *handle)
{
  return is_device (handle);
}

int
zspage_can_zero (void *handle)
{
  return is_device (handle);
}

int
zspage_can_fast_zero (void *handle)
{
  return is_device (handle);
}

int
zspage_can_extents (void *handle)
{
  return is_device (handle);
}

/* Each client has its own snapshot of a statistic, so that two connections
 * could see different ones.
 */
int
zspage_can_multi_conn (void *handle)
{
  return is_device (handle);
}

/* What was written is as durable as it gets when the write returns. */
int
zspage_can_fua (void *handle)
{
  return is_device (handle) ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_NONE;
}

/* There is nothing slower to prefetch from. */
int
zspage_can_cache (void *handle)
{
  (void) handle;
  return NBDKIT_CACHE_NONE;
}

int
zspage_is_rotational (void *handle)
{
  (void) handle;
  return 0;
}

/* Whether to log now, given when this was last logged. */
static bool
may_log (_Atomic int64_t *quiet_until)
{
  struct timespec now;
  int64_t until = atomic_load_explicit (quiet_until, memory_order_relaxed);

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec >= until &&
         atomic_compare_exchange_strong_explicit (
           quiet_until, &until, now.tv_sec + QUIET_SECONDS,
           memory_order_relaxed, memory_order_relaxed);
}

/* Which limit it is depends on the moment, so all that there are are said. */
static void
say_full (struct device *device)
{
  struct zs_budget *all = devices_budget ();
  unsigned long long total = atomic_load (&all->limit) * ZSPAGE_PAGE_SIZE;
  char limits[160] = "the system, or a memory cgroup of this server, refuses "
                     "memory, or a limit was just lifted";
  struct store_stats s;
  int n = 0;

  store_stats (device->store, &s);
  if (s.mem_limit)
    n = snprintf (limits, sizeof limits, "mem_limit is %llu",
                  (unsigned long long) s.mem_limit);
  if (total)
    snprintf (limits + n, sizeof limits - n,
              "%stotal_mem_limit is %llu, of which %llu are in use",
              n ? ", " : "", total,
              (unsigned long long) atomic_load (&all->used) * ZSPAGE_PAGE_SIZE);
  nbdkit_error ("device %s is full: %llu bytes of memory in use; %s; writes "
                "fail until pages are freed",
                device->config.name, (unsigned long long) s.mem_used_total,
                limits);
}

/* Turn -errno of the store into nbdkit's way. */
static int
answer (struct device *device, int r, const char *what, uint64_t offset)
{
  if (r == 0)
    return 0;
  errno = -r;
  if (r == -ENOSPC) {
    if (may_log (&device->full_quiet_until))
      say_full (device);
  }
  else if (r != -EIO || may_log (&device->damage_quiet_until)) {
    errno = -r;
    nbdkit_error ("device %s: %s at offset %llu: %s", device->config.name, what,
                  (unsigned long long) offset,
                  r == -EIO ? "stored data are damaged" : strerror (-r));
  }
  nbdkit_set_error (-r);
  return -1;
}

int
zspage_pread (void *handle, void *buf, uint32_t count, uint64_t offset,
              uint32_t flags)
{
  struct handle *h = handle;

  (void) flags;
  if (h->text) {
    memcpy (buf, h->text + offset, count);
    return 0;
  }
  return answer (h->device, store_read (h->device->store, buf, count, offset),
                 "read", offset);
}

int
zspage_pwrite (void *handle, const void *buf, uint32_t count, uint64_t offset,
               uint32_t flags)
{
  struct handle *h = handle;

  (void) flags;
  if (!atomic_load_explicit (&h->device->is_written, memory_order_relaxed))
    atomic_store (&h->device->is_written, true);
  return answer (h->device, store_write (h->device->store, buf, count, offset),
                 "write", offset);
}

int
zspage_flush (void *handle, uint32_t flags)
{
  (void) handle;
  (void) flags;
  return 0;
}

int
zspage_trim (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  struct handle *h = handle;

  (void) flags;
  return answer (h->device, store_trim (h->device->store, count, offset),
                 "trim", offset);
}

/* Always fast, and always freeing, whatever the flags. */
int
zspage_zero (void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
  struct handle *h = handle;

  (void) flags;
  return answer (h->device, store_zero (h->device->store, count, offset),
                 "zero", offset);
}

struct extents_cursor {
  struct nbdkit_extents *extents;
  bool only_one, failed;
};

static bool
add_extent (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  struct extents_cursor *cursor = opaque;
  uint32_t type = zero ? NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO : 0;

  if (nbdkit_add_extent (cursor->extents, offset, len, type) == -1) {
    cursor->failed = true;
    return false;
  }
  return !cursor->only_one;
}

int
zspage_extents (void *handle, uint32_t count, uint64_t offset, uint32_t flags,
                struct nbdkit_extents *extents)
{
  struct handle *h = handle;
  struct extents_cursor cursor = {
    .extents = extents,
    .only_one = flags & NBDKIT_FLAG_REQ_ONE,
  };
  int r = store_extents (h->device->store, count, offset, add_extent, &cursor);

  if (cursor.failed)
    return -1;
  return answer (h->device, r, "extents", offset);
}
