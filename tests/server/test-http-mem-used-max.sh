#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PUT mem_used_max resets the highest use to what is used now.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0
../nbd-do "$uri" "write 0 4M random:1" "trim 1M 3M"
max=$(mm $used_max)
expect "mem_used_max" "$max" -ge $((4 * MIB))
expect "mem_used_total" "$(mm $used)" -le $((2 * MIB))
put /devices/default/mem_used_max 0
expect "mem_used_max" "$(mm $used_max)" -eq "$(mm $used)"
../nbd-do "$uri" "write 1M 3M random:1"
expect "mem_used_max" "$(mm $used_max)" -eq "$max"
