#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Of two devices that are filled at once, the one at its limit fails none of the
# other's writes.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

size=$(pick 64 16 8)
start_with_stats "$((size * 2))M" compact_interval=100ms device=small \
    mem_limit=4M device=other

../nbd-do "$(export_uri small)" "until ENOSPC each 128K write 0 ${size}M random:1" \
    "fails ENOSPC each 4K write ${size}M 2M random:1" >/dev/null &
small=$!
at_end_kill $small
../nbd-do "$(export_uri other)" "each 128K write 0 ${size}M random:2" \
    "each 128K write 0 ${size}M text:3"
wait $small
../nbd-do "$(export_uri other)" "each 128K read 0 ${size}M text:3"
attr mm_stat small
attr mm_stat other
expect "failed_writes of the other" "$(figure io_stat failed_writes other)" \
    -eq 0
expect "failed_writes of the small one" \
    "$(figure io_stat failed_writes small)" -gt 0
expect "mem_used_max of the small one" "$(mm $used_max small)" -le $((4 * MIB))
