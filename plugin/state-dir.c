/* SPDX-License-Identifier: BSD-3-Clause */
/* See state-dir.h. */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "export-name.h"
#include "state-dir.h"

#define SUFFIX ".zspage"
#define MIB    (UINT64_C (1) << 20)

int
state_dir_path (const char *device, char path[STATE_PATH_MAX])
{
  int n = snprintf (path, STATE_PATH_MAX, "%s/%s" SUFFIX, server_config.state,
                    device);

  return n > 0 && (unsigned) n < STATE_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int
state_dir_check (const struct server_config *config)
{
  struct statfs fs;
  struct stat st;

  if (stat (config->state, &st) == -1 || statfs (config->state, &fs) == -1) {
    nbdkit_error ("state=%s: %m", config->state);
    return -1;
  }
  if (!S_ISDIR (st.st_mode)) {
    nbdkit_error ("state=%s: it is not a directory", config->state);
    return -1;
  }
  if (fs.f_type == TMPFS_MAGIC || config->state_on_disk)
    return 0;
  nbdkit_error ("state=%s: it is not on a tmpfs (its file system has type "
                "0x%lx), so that pages would be written to a disk; mount a "
                "tmpfs there, or say state_on_disk=true",
                config->state, (unsigned long) fs.f_type);
  return -1;
}

/* What devices may come to use of the directory at most, bytes: for pages, which
 * limits bound, and beside them.
 */
struct need {
  uint64_t pages, beside;
};

static void
need_add (struct need *need, const struct device_config *c, uint64_t nr)
{
  uint64_t pages =
    c->mem_limit && c->mem_limit < c->disksize ? c->mem_limit : c->disksize;
  uint64_t slot = sizeof (uint64_t);

  if (c->checksum)
    slot += sizeof (struct zspage_check);
  need->pages += nr * pages;
  /* The slot table, what is kept ready, and dictionaries. */
  need->beside += nr * (c->disksize / ZSPAGE_PAGE_SIZE * slot + c->ahead +
                        SLOT_GEN_MAX * ZSPAGE_DICTIONARY_PLACE + MIB);
}

static uint64_t
need_of (const struct server_config *config)
{
  uint64_t limit = config->total_mem_limit;
  struct need need = {0};
  size_t i;

  for (i = 0; i < config->nr_devices; ++i)
    need_add (&need, &config->devices[i], 1);
  if (config->on_demand)
    need_add (&need, &config->defaults,
              config->max_devices - config->nr_devices);
  else if (config->nr_devices == 0)
    need_add (&need, &config->defaults, 1);
  if (limit && limit < need.pages)
    need.pages = limit;
  /* Stock and records, about. */
  return need.pages + need.pages / 16 + need.beside;
}

static bool
is_configured (const char *name)
{
  const struct server_config *c = &server_config;
  size_t i;

  for (i = 0; i < c->nr_devices; ++i)
    if (strcmp (c->devices[i].name, name) == 0)
      return true;
  return c->on_demand ||
         (c->nr_devices == 0 && strcmp (name, DEFAULT_DEVICE_NAME) == 0);
}

/* What a device's file has already. */
static int
add_used (void *opaque, const char *name)
{
  char path[STATE_PATH_MAX];
  uint64_t *used = opaque;
  struct stat st;

  if (is_configured (name) && state_dir_path (name, path) == 0 &&
      lstat (path, &st) == 0)
    *used += (uint64_t) st.st_blocks * 512;
  return 0;
}

void
state_dir_check_room (const struct server_config *config)
{
  uint64_t most = need_of (config), room, used = 0;
  struct statfs fs;

  if (statfs (config->state, &fs) == -1 || fs.f_blocks == 0)
    return; /* a tmpfs without a size */
  state_dir_for_each (add_used, &used);
  room = (uint64_t) fs.f_bavail * fs.f_bsize + used;
  if (room < most)
    nbdkit_error ("state=%s: there is room for %" PRIu64 " MiB, and the "
                  "devices may use %" PRIu64 " MiB if nothing compresses; when "
                  "it is full, writes fail with ENOSPC",
                  config->state, room / MIB, most / MIB);
  else
    nbdkit_debug ("state=%s: there is room for %" PRIu64 " MiB; the devices "
                  "may use %" PRIu64 " MiB",
                  config->state, room / MIB, most / MIB);
}

int
state_dir_open (const struct device_config *c, struct state_file *file)
{
  struct zspage_header wanted;
  char path[STATE_PATH_MAX], why[STATE_WHY];
  bool has_checks;
  int r = layout_init (&wanted, c->disksize, c->chain_size, c->checksum);

  if (r == 0)
    r = state_dir_path (c->name, path);
  if (r < 0) {
    errno = -r;
    nbdkit_error ("device %s: state=%s: %m", c->name, server_config.state);
    return -1;
  }
  if (state_file_open (path, &wanted, file, why) < 0) {
    nbdkit_error ("device %s: %s", c->name, why);
    return -1;
  }
  if (file->header.chain_size != c->chain_size)
    nbdkit_error ("device %s: %s was made with zspage_chain_size=%" PRIu32
                  ", which stays so until it is removed",
                  c->name, path, file->header.chain_size);
  has_checks = file->header.features & ZSPAGE_FEATURE_CHECKS;
  if (has_checks != c->checksum)
    nbdkit_error ("device %s: %s was made with checksum=%s, which stays so "
                  "until it is removed",
                  c->name, path, has_checks ? "true" : "false");
  return 0;
}

void
state_dir_progress (void *opaque, uint64_t done, uint64_t all)
{
  nbdkit_error ("device %s: recovering what is stored: %" PRIu64 "%%",
                (const char *) opaque, done * 100 / all);
}

/* Who started the server sees this, or the log. */
void
state_dir_tell (const char *device, const struct store *store)
{
  struct store_recovered is = store_recovered (store);
  char ended[64] = "was closed";

  if (!is.was_closed)
    snprintf (ended, sizeof ended, "was not closed (by process %" PRIu32 ")",
              is.pid);
  if (is.lost > 0)
    nbdkit_error ("device %s: %" PRIu64 " pages cannot be trusted and are "
                  "lost: reading them fails; %" PRIu64 " are as they were",
                  device, is.lost, is.pages);
  if (is.pages > 0 || !is.was_closed)
    nbdkit_error ("device %s: %" PRIu64 " pages recovered in %" PRIu64
                  " ms; the file %s",
                  device, is.pages, is.ms, ended);
}

/* The device that a file is of; false: none. */
static bool
name_of (const char *entry, char name[DEVICE_NAME_MAX + 1])
{
  size_t len = strlen (entry), suffix = strlen (SUFFIX);

  if (len <= suffix || len - suffix > DEVICE_NAME_MAX ||
      strcmp (entry + len - suffix, SUFFIX) != 0)
    return false;
  memcpy (name, entry, len - suffix);
  name[len - suffix] = '\0';
  return device_name_is_valid (name);
}

int
state_dir_for_each (int (*fn) (void *opaque, const char *name), void *opaque)
{
  char name[DEVICE_NAME_MAX + 1];
  DIR *dir = opendir (server_config.state);
  struct dirent *entry;
  int r = 0;

  if (dir == NULL) {
    nbdkit_error ("state=%s: %m", server_config.state);
    return -1;
  }
  while (r == 0 && (entry = readdir (dir)) != NULL)
    if (name_of (entry->d_name, name))
      r = fn (opaque, name);
  closedir (dir);
  return r;
}
