#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With on_demand=true a device is made when its name is first asked for, as many
# as max_devices, 64 by default; one more is refused, with a reason.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires jq

start_with_stats 64M on_demand=true
for ((i = 1; i <= 64; i++)); do
    ../nbd-do "$(export_uri "vm-$i")" "write 0 8K text:$i"
done
expect "devices" "$(http /devices | jq length)" -eq 64
expect_fails ../nbd-do "$(export_uri one-more)" "read 0 4K 0"
grep -q "device one-more: there are 64 already.*max_devices" "$server_log" ||
    die "the log says $(cat "$server_log")"
expect "devices" "$(http /devices | jq length)" -eq 64
for ((i = 1; i <= 64; i++)); do
    ../nbd-do "$(export_uri "vm-$i")" "read 0 8K text:$i" "read 8K 4K 0"
done

# Alone, max_devices would do nothing.
for option in "" on_demand=false device=a; do
    # shellcheck disable=SC2086
    expect_fails run_nbdkit -f -U - "$plugin" 64M max_devices=2 $option \
        --run true >"$tmp/said" 2>&1
    grep -q 'max_devices=2: .*on_demand=true is missing' "$tmp/said" ||
        die "max_devices=2 $option: says $(cat "$tmp/said")"
done

start_with_stats 64M on_demand=true max_devices=2 device=fixed
../nbd-do "$(export_uri fixed)" "write 0 4K text:1"
../nbd-do "$(export_uri a)" "write 0 4K text:2"
expect_fails ../nbd-do "$(export_uri b)" "read 0 4K 0"
