/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb check: whether a state file, of no running server, is whole.
 *
 * It does what a server does with the file, on a private mapping of it, so that
 * the file stays as it is, and then reads every page.
 */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"
#include "store.h"
#include "verbs.h"
#include "zspage-page.h"

/* Pages that are named. */
#define NAMED 20u

struct check {
  struct store *store;
  struct ctl_progress progress;
  uint64_t looked_at, good, lost, damaged;
};

static void
name_page (const struct check *check, uint64_t page, const char *what)
{
  const uint64_t nr = check->lost + check->damaged;

  if (nr <= NAMED)
    printf ("page %" PRIu64 " (at byte %" PRIu64 "): %s\n", page,
            page * ZSPAGE_PAGE_SIZE, what);
  else if (nr == NAMED + 1)
    puts ("and others");
}

static bool
check_page (void *opaque, uint64_t page, unsigned flags)
{
  struct check *check = opaque;
  uint8_t data[ZSPAGE_PAGE_SIZE];

  if (flags & STORE_PAGE_LOST) {
    check->lost++;
    name_page (check, page, "its slot cannot be trusted");
  }
  else if (store_read (check->store, data, sizeof data,
                       page * ZSPAGE_PAGE_SIZE) < 0) {
    check->damaged++;
    name_page (check, page, "its data are damaged");
  }
  else
    check->good++;
  check->looked_at++;
  ctl_progress_update (&check->progress, check->looked_at * ZSPAGE_PAGE_SIZE);
  return true;
}

static void
print_header (const char *path, const struct zspage_header *h)
{
  printf ("%s: version %" PRIu32 ", a device of %" PRIu64 " bytes, "
          "zspage_chain_size=%" PRIu32 ", checksum=%s; ",
          path, h->version, h->disksize, h->chain_size,
          h->features & ZSPAGE_FEATURE_CHECKS ? "true" : "false");
  if (h->was_closed == 1)
    puts ("it was closed");
  else
    printf ("it was not closed, by process %" PRIu32 "\n", h->pid);
}

static int
check_store (const char *path, struct store *store)
{
  const struct store_recovered is = store_recovered (store);
  struct check check = {.store = store};
  struct store_stats stats;

  store_stats (store, &stats);
  ctl_progress_start (&check.progress, "check", stats.orig_data_size);
  store_for_each_page (store, 0, check_page, &check);
  ctl_progress_stop (&check.progress);
  printf ("%" PRIu64 " pages are whole; %" PRIu64 " are damaged; %" PRIu64
          " have slots that cannot be trusted; %" PRIu64 " pages of memory "
          "belong to none and would be freed\n",
          check.good, check.damaged, check.lost, is.freed_pages);
  if (check.damaged + check.lost > 0)
    return ctl_fail ("%s: %" PRIu64 " pages cannot be read", path,
                     check.damaged + check.lost);
  return 0;
}

int
ctl_check (const struct ctl_invocation *inv)
{
  const char *path = inv->args[0];
  char why[STATE_WHY];
  struct state_file file;
  struct store_config config = {
    .name = "check", .file = &file, .is_look = true};
  struct store *store;
  int r;

  if (state_file_open_readonly (path, &file, why) < 0)
    return ctl_fail ("%s", why);
  print_header (path, &file.header);
  r = codec_pool_create (CODEC_LZ4, codec_levels (CODEC_LZ4).dflt, 1,
                         &config.codec);
  if (r < 0)
    return ctl_fail ("%s", strerror (-r));
  r = store_create (&config, &store);
  if (r == 0) {
    r = check_store (path, store);
    store_destroy (store);
  }
  else
    r = ctl_fail ("%s: %s", path, strerror (-r));
  codec_pool_destroy (config.codec);
  return r;
}
