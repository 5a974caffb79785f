/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb dictionary: the dictionaries of a device, listed, trained and
 * written to a file, which algorithm_params="dict=FILE" takes.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "devices.h"
#include "message.h"
#include "verbs.h"

static int
get_generation (const struct ctl_invocation *inv, json_int_t *generation)
{
  json_t *devices;
  int r = ctl_devices_get_some (inv->client, inv->args, 1, &devices);

  if (r != 0)
    return r;
  *generation =
    ctl_device_count (json_array_get (devices, 0), "compression", "generation");
  json_decref (devices);
  return 0;
}

static int
train (const struct ctl_invocation *inv)
{
  json_int_t before, after;
  int r = get_generation (inv, &before);

  if (r == 0)
    r = ctl_attribute_set (inv->client, inv->args[0], "dictionary", "train");
  if (r == 0)
    r = get_generation (inv, &after);
  if (r != 0)
    return r;
  if (after != before)
    printf ("%s: generation %" JSON_INTEGER_FORMAT " is new\n", inv->args[0],
            after);
  else
    printf ("%s: none was found that gains enough over what there is\n",
            inv->args[0]);
  return 0;
}

/* Of whoever runs this alone: there are pieces of pages in it. */
static int
write_file (const char *name, const struct ctl_reply *reply)
{
  int fd = open (name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t done = 0;
  ssize_t n;

  if (fd == -1)
    return ctl_fail ("%s: %s", name, strerror (errno));
  while (done < reply->len) {
    n = write (fd, reply->body + done, reply->len - done);
    if (n == -1) {
      ctl_fail ("%s: %s", name, strerror (errno));
      close (fd);
      return 1;
    }
    done += (size_t) n;
  }
  if (close (fd) == -1)
    return ctl_fail ("%s: %s", name, strerror (errno));
  printf ("%s: %zu bytes\n", name, reply->len);
  return 0;
}

static int
export_newest (const struct ctl_invocation *inv)
{
  struct ctl_reply reply;
  int r = ctl_attribute_get (inv->client, inv->args[0], "dictionary", &reply);

  if (r != 0)
    return r;
  r = write_file (inv->export, &reply);
  free (reply.body);
  return r;
}

static int
list (const struct ctl_invocation *inv)
{
  struct ctl_reply reply;
  int r = ctl_attribute_get (inv->client, inv->args[0], "dictionaries", &reply);

  if (r != 0)
    return r;
  fwrite (reply.body, 1, reply.len, stdout);
  free (reply.body);
  return 0;
}

int
ctl_dictionary (const struct ctl_invocation *inv)
{
  int r = 0;

  if (inv->train)
    r = train (inv);
  if (r == 0 && inv->export != NULL)
    r = export_newest (inv);
  if (r == 0 && !inv->train && inv->export == NULL)
    r = list (inv);
  return r;
}
