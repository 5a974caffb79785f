#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Devices that were asked for and never written to take no memory for data, and
# little for themselves.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires jq

start_with_stats 16G on_demand=true compact_interval=0
../nbd-do "$(export_uri first)" "read 0 4K 0"

# All the memory that the files of the devices have.
files_bytes ()
{
    local fd sum=0

    for fd in "/proc/$server_pid/fd"/*; do
        case $(readlink "$fd") in
            /memfd:zspage*)
                sum=$((sum + $(stat -L -c %b "$fd") * 512)) ;;
        esac
    done
    echo "$sum"
}

before=$(own_pss_bytes)
for ((i = 1; i < 64; i++)); do
    ../nbd-do "$(export_uri "vm-$i")" "read 15G 1M 0" "trim 0 1G"
done
expect "devices" "$(http /devices | jq length)" -eq 64
grown=$(($(own_pss_bytes) - before))
echo "63 devices: $((grown / 63 / 1024)) KiB each, data $(files_bytes) bytes"
expect "bytes of data" "$(files_bytes)" -eq 0
is_slow || expect "bytes for 63 devices" "$grown" -le $((63 * MIB))
../nbd-do "$(export_uri vm-1)" "write 0 4K text:1"
expect "bytes of data" "$(files_bytes)" -gt 0
