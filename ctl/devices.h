/* SPDX-License-Identifier: BSD-3-Clause */

/* The devices of a server, their figures and attributes.
 *
 * Functions that ask the server complain themselves, as they know best what
 * was wrong, and return 0 or an exit status.
 */

#ifndef CTL_DEVICES_H
#define CTL_DEVICES_H

#include <stddef.h>

#include <jansson.h>

#include "client.h"

/* The figures of all devices: an array of objects, each of which has a string
 * "device", its name.  To be given up by json_decref.
 */
extern int ctl_devices_get (struct ctl_client *client, json_t **devices);

/* Those of some, in this order; of all if nr_names is 0. */
extern int ctl_devices_get_some (struct ctl_client *client, char *names[],
                                 size_t nr_names, json_t **devices);

/* If there are none, say so on stderr: an empty table looks like a mistake. */
extern void ctl_devices_note_none (const json_t *devices);

extern const char *ctl_device_name (const json_t *device);

/* A figure of a device: group is NULL for those at the top.  NULL if the
 * server did not tell it.
 */
extern const json_t *ctl_device_figure (const json_t *device, const char *group,
                                        const char *name);

/* The same of one that counts something; 0 if the server did not tell it. */
extern json_int_t ctl_device_count (const json_t *device, const char *group,
                                    const char *name);

/* Read an attribute; the caller frees reply->body. */
extern int ctl_attribute_get (struct ctl_client *client, const char *device,
                              const char *attribute, struct ctl_reply *reply);

extern int ctl_attribute_set (struct ctl_client *client, const char *device,
                              const char *attribute, const char *value);

#endif /* CTL_DEVICES_H */
