#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All that the server takes for pages of real processes, beyond what an empty
# one does and beyond what nbdkit's own threads take under the same load, is at
# most 2% more than mem_used_total of kernel zram for the same pages; and zram
# does not count its table there.

. ./functions.sh
requires nbdcopy jq
requires_plain "the figures are those of a server as it is used"
requires_zram

nr_pages=100000
real_pages $nr_pages "$tmp/pages"
zram_store "$tmp/pages"
read -r _ _ k_used _ <<<"$zram_mm_stat"

# Usage: grow PLUGIN [OPTION]; sets empty and full
grow ()
{
    start_nbdkit "$1" $((nr_pages * 4096)) "${@:2}"
    empty=$(all_bytes) empty_pss=$(pss_bytes)
    quietly "$zspage_pages" store --connections=4 "$uri" "$tmp/pages"
    # Until the connections' threads have ended.
    sleep 1
    full=$(all_bytes) full_pss=$(pss_bytes)
}

grow null
null=$((full - empty))
echo "| nbdkit null:  all $empty -> $full, PSS $empty_pss -> $full_pss"
grow "$plugin" comp_algorithm=lz4
echo "| this plugin:  all $empty -> $full, PSS $empty_pss -> $full_pss," \
    "st_blocks $(memfd_bytes)"
cost=$((full - empty - null))

node stats.json >"$tmp/json"
jq -c .memory "$tmp/json" | sed "s/^/| /"
used=$(jq .mm_stat.mem_used_total "$tmp/json")
reserve=$(jq .memory.mem_reserve "$tmp/json")
table=$(($(memfd_bytes) - used - reserve))
awk -v cost="$cost" -v k="$k_used" -v used="$used" -v table="$table" \
    -v device=$((nr_pages * 4096)) 'BEGIN {
        printf "| kernel mem_used_total %d, ours %d\n", k, used
        printf "| whole cost %d: %.4f of the kernel'\''s\n", cost, cost / k
        printf "| slot table and chunk records %d: %.4f%% of the device\n",
            table, 100 * table / device
    }'
expect "whole cost" "$cost" -le $((k_used * 102 / 100))
expect "slot table" "$table" -le $((nr_pages * 4096 / 400))
