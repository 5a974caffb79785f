#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every attribute reads the same over HTTP as over NBD, to the byte, but for
# block_state, which is too long to be had over NBD.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdcopy

start_with_stats 64M compact_interval=0 device=default device=vm.1 \
    comp_algorithm=zstd mem_limit=1G
../nbd-do "$uri" "write 0 4M text:1" "write 8M 1M random:2" "write 16M 64K 0x61" \
    "trim 1M 300K"
../nbd-do "$(export_uri vm.1)" "write 8K 4K text:3"

for device in default vm.1; do
    for name in mm_stat io_stat bd_stat debug_stat classes stats.json disksize \
        initstate comp_algorithm algorithm_params mem_limit; do
        attr "$name" "$device" >"$tmp/http"
        node "$device/$name" >"$tmp/nbd"
        test -s "$tmp/http" || die "$device/$name is empty"
        cmp "$tmp/http" "$tmp/nbd" || die "$device/$name differs"
    done
done

expect "lines of block_state" "$(attr block_state | wc -l)" -eq $((1024 - 75 + 256 + 16))
expect_fails node default/block_state 2>/dev/null

# The bare name is default's.
attr mm_stat | cmp - <(node mm_stat)
expect_match "comp_algorithm of vm.1" "$(attr comp_algorithm vm.1)" 'lz4 \[zstd\]'
