#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# At mem_limit memory that trims left unused in pages is gathered before a
# write is refused.

. ./functions.sh
requires nbdcopy

limit=$((16 * 1024 * 1024))
start_zspage 256M mem_limit=$limit

# Fill it with small objects, free three of four everywhere.
full=$(./nbd-do "$uri" "until ENOSPC each 4K write 0 256M text:1")
for page in 0 1 2; do
    for ((at = page * 4096; at < full; at += 4 * 4096)); do
        printf 'trim %s 4K\n' "$at"
    done
done >"$tmp/trims"
xargs -d '\n' ./nbd-do "$uri" <"$tmp/trims"

# About half of what is free has to be found.
want=$((limit / 3))
./nbd-do "$uri" "each 4K write 200M $want random:2" "read 200M $want random:2"
expect "pages_compacted" "$(mm_stat_field 7)" -gt 0
expect "mem_used_max" "$(mm_stat_field 5)" -le $limit
for ((at = 3 * 4096; at + 4096 <= full; at += 64 * 4096)); do
    printf 'read %s 4K text:1\n' "$at"
done | xargs -d '\n' ./nbd-do "$uri"
