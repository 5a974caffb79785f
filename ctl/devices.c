/* SPDX-License-Identifier: BSD-3-Clause */

/* Owns the paths of the server's interface and the meaning of its answers. */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "devices.h"
#include "message.h"

static bool
is_ok (const struct ctl_reply *reply)
{
  return reply->status >= 200 && reply->status < 300;
}

/* What the server says is wrong, in its words if they are for people, and of
 * what: a device, or the server itself.
 */
static int
fail_reply (const struct ctl_reply *reply, const char *what)
{
  if (reply->is_text && reply->len > 0)
    return ctl_fail ("%s: %s", what, reply->body);
  return ctl_fail ("%s: the server answers with HTTP status %ld", what,
                   reply->status);
}

const char *
ctl_device_name (const json_t *device)
{
  return json_string_value (json_object_get (device, "device"));
}

static bool
are_devices (const json_t *devices)
{
  size_t i;

  for (i = 0; i < json_array_size (devices); i++) {
    if (ctl_device_name (json_array_get (devices, i)) == NULL)
      return false;
  }
  return json_is_array (devices);
}

int
ctl_devices_get (struct ctl_client *client, json_t **devices)
{
  struct ctl_reply reply;
  json_error_t error;
  int r = 0;

  if (ctl_client_request (client, "/devices", NULL, CTL_TIMEOUT_S, &reply) < 0)
    return ctl_fail ("%s", ctl_client_error (client));
  if (!is_ok (&reply)) {
    r = fail_reply (&reply, ctl_client_server (client));
    free (reply.body);
    return r;
  }
  *devices = json_loadb (reply.body, reply.len, 0, &error);
  if (*devices == NULL)
    r = ctl_fail ("%s: the server's answer is no JSON: line %d: %s",
                  ctl_client_server (client), error.line, error.text);
  else if (!are_devices (*devices)) {
    json_decref (*devices);
    r = ctl_fail ("%s: the server's answer is no list of devices: is it "
                  "another kind of server?",
                  ctl_client_server (client));
  }
  free (reply.body);
  return r;
}

static json_t *
find (const json_t *devices, const char *name)
{
  size_t i;

  for (i = 0; i < json_array_size (devices); i++) {
    json_t *device = json_array_get (devices, i);

    if (strcmp (ctl_device_name (device), name) == 0)
      return device;
  }
  return NULL;
}

static int
fail_no_device (const json_t *devices, const char *name)
{
  char *names = NULL;
  size_t i, len;
  FILE *fp = open_memstream (&names, &len);
  int r;

  for (i = 0; fp != NULL && i < json_array_size (devices); i++)
    fprintf (fp, " %s", ctl_device_name (json_array_get (devices, i)));
  if (fp == NULL || fclose (fp) == EOF)
    r = ctl_fail ("%s: no such device", name);
  else if (len == 0)
    r = ctl_fail ("%s: no such device: the server has none yet", name);
  else
    r = ctl_fail ("%s: no such device; there are:%s", name, names);
  free (names);
  return r;
}

int
ctl_devices_get_some (struct ctl_client *client, char *names[], size_t nr_names,
                      json_t **devices)
{
  json_t *all, *some;
  size_t i;
  int r;

  r = ctl_devices_get (client, &all);
  if (r != 0 || nr_names == 0) {
    *devices = all;
    return r;
  }
  some = json_array ();
  for (i = 0; i < nr_names && r == 0; i++) {
    json_t *device = find (all, names[i]);

    if (device == NULL)
      r = fail_no_device (all, names[i]);
    else if (json_array_append (some, device) == -1)
      r = ctl_fail ("%s", strerror (ENOMEM));
  }
  json_decref (all);
  if (r != 0)
    json_decref (some);
  else
    *devices = some;
  return r;
}

void
ctl_devices_note_none (const json_t *devices)
{
  if (json_array_size (devices) == 0)
    fputs ("zspagectl: the server has no devices yet\n", stderr);
}

const json_t *
ctl_device_figure (const json_t *device, const char *group, const char *name)
{
  if (group != NULL)
    device = json_object_get (device, group);
  return json_object_get (device, name);
}

json_int_t
ctl_device_count (const json_t *device, const char *group, const char *name)
{
  return json_integer_value (ctl_device_figure (device, group, name));
}

/* A device or attribute was not found: find out which, and tell those that
 * are there.
 */
static int
fail_not_found (struct ctl_client *client, const struct ctl_reply *reply,
                const char *device, const char *attribute, bool to_set)
{
  json_t *devices;
  char *names;
  int r;

  r = ctl_devices_get (client, &devices);
  if (r != 0)
    return r;
  if (find (devices, device) == NULL) {
    r = fail_no_device (devices, device);
    json_decref (devices);
    return r;
  }
  json_decref (devices);
  names = ctl_attribute_names (to_set);
  if (names == NULL)
    return fail_reply (reply, attribute);
  r = ctl_fail ("%s: no such attribute; %s: %s", attribute,
                to_set ? "those that can be set are" : "there are", names);
  free (names);
  return r;
}

/* Name the device, the attribute, and a value that is none of its values. */
static int
fail_refused (const struct ctl_reply *reply, const char *device,
              const char *attribute, const char *value)
{
  char what[160], *p;

  if (value != NULL && (reply->status == 400 || reply->status == 413))
    snprintf (what, sizeof what, "%.64s: %.24s=%.40s%s", device, attribute,
              value, strlen (value) > 40 ? "..." : "");
  else
    snprintf (what, sizeof what, "%.64s: %.24s", device, attribute);
  for (p = what; *p != '\0'; p++) {
    if (iscntrl ((unsigned char) *p))
      *p = '?';
  }
  return fail_reply (reply, what);
}

static int
request (struct ctl_client *client, const char *device, const char *attribute,
         const char *value, struct ctl_reply *reply)
{
  char *name = ctl_client_escape (client, device);
  char *attr = ctl_client_escape (client, attribute);
  char *path = NULL;
  int r = 0;

  if (name == NULL || attr == NULL ||
      asprintf (&path, "/devices/%s/%s", name, attr) == -1) {
    path = NULL;
    r = ctl_fail ("%s", strerror (ENOMEM));
  }
  free (name);
  free (attr);
  if (r != 0)
    return r;

  if (ctl_client_request (client, path, value,
                          ctl_attribute_timeout_s (attribute), reply) < 0)
    r = ctl_fail ("%s", ctl_client_error (client));
  else if (!is_ok (reply)) {
    r = reply->status == 404
          ? fail_not_found (client, reply, device, attribute, value != NULL)
          : fail_refused (reply, device, attribute, value);
    free (reply->body);
  }
  free (path);
  return r;
}

int
ctl_attribute_get (struct ctl_client *client, const char *device,
                   const char *attribute, struct ctl_reply *reply)
{
  return request (client, device, attribute, NULL, reply);
}

int
ctl_attribute_set (struct ctl_client *client, const char *device,
                   const char *attribute, const char *value)
{
  struct ctl_reply reply;
  int r;

  r = request (client, device, attribute, value, &reply);
  if (r == 0)
    free (reply.body);
  return r;
}
