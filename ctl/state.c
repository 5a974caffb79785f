/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the verb state: which file keeps the pages of a device, and what was
 * found in it when the server started.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "devices.h"
#include "verbs.h"

static int
print_state (const struct ctl_invocation *inv, const char *device)
{
  struct ctl_reply reply;
  int r = ctl_attribute_get (inv->client, device, "state", &reply);

  if (r != 0)
    return r;
  printf ("%s:\n", device);
  fwrite (reply.body, 1, reply.len, stdout);
  free (reply.body);
  return 0;
}

int
ctl_state (const struct ctl_invocation *inv)
{
  json_t *devices, *device;
  size_t i;
  int r = ctl_devices_get_some (inv->client, inv->args, (size_t) inv->nr_args,
                                &devices);

  if (r != 0)
    return r;
  ctl_devices_note_none (devices);
  json_array_foreach (devices, i, device)
  {
    r = print_state (inv, ctl_device_name (device));
    if (r != 0)
      break;
  }
  json_decref (devices);
  return r;
}
