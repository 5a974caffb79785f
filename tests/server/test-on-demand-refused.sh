#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A client that may not open a device does not make one either, so that it
# cannot use up max_devices.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires jq

start_with_stats 64M on_demand=true max_devices=2 "allow_uid=$(($(id -u) + 1))"
for name in a b c d; do
    expect_fails ../nbd-do "$(export_uri $name)" "read 0 4K 0"
done
grep -q "allow_uid" "$server_log" || die "the log says $(cat "$server_log")"
expect "devices" "$(http /devices | jq length)" -eq 0
