/* SPDX-License-Identifier: BSD-3-Clause */
/* The options, as nbdkit hands them to the plugin. */
#ifndef PLUGIN_CONFIG_H
#define PLUGIN_CONFIG_H

#include "device.h"

/* What was given, or defaults. */
extern struct device_config plugin_config;

/* nbdkit's callbacks: 0, or -1 after nbdkit_error. */
int zspage_config (const char *key, const char *value);
int zspage_config_complete (void);
extern const char zspage_config_help[];

#endif /* PLUGIN_CONFIG_H */
