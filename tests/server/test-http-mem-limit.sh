#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PUT mem_limit sets the limit of that device, from now on, as mem_stat says.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0 device=default device=other
put /devices/default/mem_limit 1M
expect "mem_limit" "$(attr mem_limit)" -eq $MIB
expect "mm_stat" "$(mm $limit)" -eq $MIB
expect "mem_limit of the other" "$(attr mem_limit other)" -eq 0

done_bytes=$(../nbd-do "$uri" "until ENOSPC each 4K write 0 8M random:1")
expect "bytes written at 1 MiB" "$done_bytes" -le $MIB
../nbd-do "$(export_uri other)" "each 4K write 0 8M random:1"

put /devices/default/mem_limit 4M
../nbd-do "$uri" "each 4K write 0 2M random:1"
# Below what is used: that stays, but no more comes.
put /devices/default/mem_limit 4K
../nbd-do "$uri" "each 4K read 0 2M random:1" \
    "fails ENOSPC write 8M 4K random:1"
put /devices/default/mem_limit 0
../nbd-do "$uri" "each 4K write 0 8M random:1" "read 0 8M random:1"
expect "mm_stat" "$(mm $limit)" -eq 0
