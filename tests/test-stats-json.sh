#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# stats.json is JSON, and agrees with the texts, while nothing changes.

. ./functions.sh
requires nbdcopy jq

start_zspage 64M compact_interval=0 comp_algorithm=zstd algorithm_params=level=2
./nbd-do "$uri" "write 0 4M text:1" "write 8M 1M random:1" "trim 0 1M"
node stats.json >"$tmp/json"
jq -e '.device == "default" and .comp_algorithm == "zstd" and .level == 2' \
    "$tmp/json" >/dev/null || die "device: $(cat "$tmp/json")"

fields='orig_data_size compr_data_size mem_used_total mem_limit mem_used_max
same_pages pages_compacted huge_pages huge_pages_since'
for f in $fields; do jq -e ".mm_stat.$f" "$tmp/json"; done >"$tmp/a"
node mm_stat | xargs -n 1 >"$tmp/b"
diff "$tmp/a" "$tmp/b"

for f in failed_reads failed_writes invalid_io notify_free; do
    jq -e ".io_stat.$f" "$tmp/json"
done >"$tmp/a"
node io_stat | xargs -n 1 >"$tmp/b"
diff "$tmp/a" "$tmp/b"

# What zram leaves out.
jq -e '.memory.disksize == 67108864 and .memory.mem_meta > 0 and
    .memory.mem_resident >= .mm_stat.mem_used_total + .memory.mem_reserve' \
    "$tmp/json" >/dev/null || die "memory: $(cat "$tmp/json")"
expect "mem_resident" "$(jq .memory.mem_resident "$tmp/json")" -eq \
    "$(memfd_bytes)"
