#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Options of the whole server must come before the first device=.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

for option in compact_interval=5s stats=unix:/x stats_mode=0600 \
    total_mem_limit=1G on_demand=true max_devices=4; do
    expect_fails run_nbdkit -f -U - "$plugin" 64M device=a "$option" \
        --run true >"$tmp/said" 2>&1
    grep -q "$option: .*before the first device=" "$tmp/said" ||
        die "$option: says $(cat "$tmp/said")"
done

for name in "" . .. a/b 'a b' "$(printf 'a%.0s' {1..65})" mm_stat stats.json \
    $'caf\303\251' ; do
    expect_fails run_nbdkit -f -U - "$plugin" 64M "device=$name" \
        --run true >"$tmp/said" 2>&1
    grep -q "device=.*1 to 64 characters" "$tmp/said" ||
        die "device=$name: says $(cat "$tmp/said")"
done
expect_fails run_nbdkit -f -U - "$plugin" 64M device=a device=b device=a \
    --run true >"$tmp/said" 2>&1
grep -q "device=a: .*already" "$tmp/said" || die "says $(cat "$tmp/said")"

# The longest name there is.
name=$(printf 'a%.0s' {1..64})
start_zspage 64M "device=$name"
../nbd-do "$(export_uri "$name")" "write 0 4K text:1" "read 0 4K text:1"
