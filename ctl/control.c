/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verbs that read and write attributes. */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "devices.h"
#include "message.h"
#include "verbs.h"
#include "zspage-page.h"

int
ctl_get (const struct ctl_invocation *inv)
{
  struct ctl_reply reply;
  int r;

  r = ctl_attribute_get (inv->client, inv->args[0], inv->args[1], &reply);
  if (r != 0)
    return r;
  fwrite (reply.body, 1, reply.len, stdout);
  free (reply.body);
  return 0;
}

/* Forgetting what a device holds is the one thing that cannot be undone. */
static int
reset (const struct ctl_invocation *inv, const char *name, const char *value)
{
  char data[CTL_SIZE_LEN], *names[] = {(char *) name};
  json_t *devices;
  int r;

  if (!inv->yes) {
    r = ctl_devices_get_some (inv->client, names, 1, &devices);
    if (r != 0)
      return r;
    ctl_size_text ((uint64_t) ctl_device_count (json_array_get (devices, 0),
                                                "mm_stat", "orig_data_size"),
                   data);
    json_decref (devices);
    return ctl_usage ("%s: not reset: the %s of data that it holds would be "
                      "lost, which may be memory that some machine has "
                      "swapped out; add --yes if that is meant",
                      name, data);
  }
  return ctl_attribute_set (inv->client, name, "reset", value);
}

int
ctl_set (const struct ctl_invocation *inv)
{
  const char *name = inv->args[0], *attribute = inv->args[1];
  const char *value = inv->args[2];
  char bytes_text[32];
  uint64_t bytes;

  if (strcmp (attribute, "reset") == 0)
    return reset (inv, name, value);
  /* Tables print 1.5G, so this is taken, too; the server, as zram, knows
   * whole numbers only.
   */
  if (strcmp (attribute, "mem_limit") == 0 && strchr (value, '.') != NULL &&
      ctl_parse_size (value, UINT64_MAX, &bytes) == 0) {
    snprintf (bytes_text, sizeof bytes_text, "%" PRIu64, bytes);
    value = bytes_text;
  }
  return ctl_attribute_set (inv->client, name, attribute, value);
}

int
ctl_reset (const struct ctl_invocation *inv)
{
  return reset (inv, inv->args[0], "1");
}

int
ctl_idle (const struct ctl_invocation *inv)
{
  return ctl_attribute_set (inv->client, inv->args[0], "idle", "all");
}

/* Compact a device, whose figures were just read, and tell what came of it. */
static int
compact_one (struct ctl_client *client, const json_t *before)
{
  char *names[] = {(char *) ctl_device_name (before)};
  char freed[CTL_SIZE_LEN], total[CTL_SIZE_LEN];
  const json_t *after;
  json_t *devices;
  json_int_t nr;
  int r;

  r = ctl_attribute_set (client, names[0], "compact", "1");
  if (r == 0)
    r = ctl_devices_get_some (client, names, 1, &devices);
  if (r != 0)
    return r;
  after = json_array_get (devices, 0);
  nr = ctl_device_count (after, "mm_stat", "pages_compacted") -
       ctl_device_count (before, "mm_stat", "pages_compacted");
  if (nr < 0) /* the server was started anew meanwhile */
    nr = 0;
  ctl_size_text ((uint64_t) nr * ZSPAGE_PAGE_SIZE, freed);
  ctl_size_text (
    (uint64_t) ctl_device_count (after, "mm_stat", "mem_used_total"), total);
  printf ("%s: %" JSON_INTEGER_FORMAT " pages (%s) freed, %s in use\n",
          names[0], nr, freed, total);
  json_decref (devices);
  return 0;
}

int
ctl_compact (const struct ctl_invocation *inv)
{
  json_t *devices;
  size_t i;
  int r;

  r = ctl_devices_get_some (inv->client, inv->args, (size_t) inv->nr_args,
                            &devices);
  if (r != 0)
    return r;
  ctl_devices_note_none (devices);
  for (i = 0; i < json_array_size (devices); i++) {
    const int one = compact_one (inv->client, json_array_get (devices, i));

    if (one != 0)
      r = one;
  }
  json_decref (devices);
  return r;
}

/* The parameters, with spaces between; the caller frees them.  NULL: no memory.
 */
static char *
join (char *words[], int nr_words)
{
  char *text = NULL;
  size_t len;
  int i;
  FILE *fp = open_memstream (&text, &len);

  if (fp == NULL)
    return NULL;
  for (i = 0; i < nr_words; i++)
    fprintf (fp, "%s%s", i > 0 ? " " : "", words[i]);
  if (fclose (fp) == EOF) {
    free (text);
    return NULL;
  }
  return text;
}

/* How far a figure of compression has come since. */
static uint64_t
since (const json_t *after, const json_t *before, const char *figure)
{
  json_int_t n = ctl_device_count (after, "compression", figure) -
                 ctl_device_count (before, "compression", figure);

  return n > 0 ? (uint64_t) n : 0; /* the server was started anew meanwhile */
}

int
ctl_recompress (const struct ctl_invocation *inv)
{
  char *params = join (inv->args + 1, inv->nr_args - 1);
  json_t *before = NULL, *after = NULL;
  const json_t *a, *b;
  char saved[CTL_SIZE_LEN];
  int r;

  if (params == NULL)
    return ctl_fail ("%s", strerror (ENOMEM));
  r = ctl_devices_get_some (inv->client, inv->args, 1, &before);
  if (r == 0)
    r = ctl_attribute_set (inv->client, inv->args[0], "recompress", params);
  if (r == 0)
    r = ctl_devices_get_some (inv->client, inv->args, 1, &after);
  if (r == 0) {
    a = json_array_get (after, 0);
    b = json_array_get (before, 0);
    ctl_size_text (since (a, b, "recompress_saved"), saved);
    printf ("%s: %" PRIu64 " pages tried, %" PRIu64
            " of them smaller now, by %s\n",
            inv->args[0], since (a, b, "recompress_tried"),
            since (a, b, "recompress_won"), saved);
  }
  json_decref (before);
  json_decref (after);
  free (params);
  return r;
}
