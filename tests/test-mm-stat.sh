#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mm_stat is zram's line to the byte, also under the device's name, and its
# fields are what was stored.

. ./functions.sh
requires nbdcopy nbdinfo

number=" {7}[0-9]| {6}[0-9]{2}| {5}[0-9]{3}| {4}[0-9]{4}| {3}[0-9]{5}"
number="($number| {2}[0-9]{6}| [0-9]{7}|[0-9]{8,})"
line="^$number( $number){8}$"

start_zspage 128M compact_interval=0 mem_limit=32M
empty=$(printf '%8d %8d %8d %8d %8d %8d %8d %8d %8d' \
    0 0 0 33554432 0 0 0 0 0)
expect "mm_stat of an empty device" "$(node mm_stat)" = "$empty"

# 3 pages of zeros, 2 of another byte, 4 that do not compress, 5 that do.
./nbd-do "$uri" "write 0 12K 0x00" "write 1M 8K 0x55" "write 2M 16K random:1" \
    "write 3M 20K text:1"
for name in mm_stat default/mm_stat; do
    node "$name" >"$tmp/line"
    expect "lines of $name" "$(wc -l <"$tmp/line")" -eq 1
    expect_match "$name" "$(cat "$tmp/line")" "$line"
    expect "size of $name" "$(nbdinfo --size "$(export_uri "$name")")" \
        -eq "$(wc -c <"$tmp/line")"
done
read -r orig compr used limit max same compacted huge huge_since <"$tmp/line"
expect "orig_data_size" "$orig" -eq $((14 * 4096))
expect "compr_data_size" "$compr" -gt $((4 * 4096 + 5 * 4096 / 8))
expect "compr_data_size" "$compr" -lt $((4 * 4096 + 5 * 4096 / 2))
expect "mem_used_total" "$used" -ge "$compr"
expect "mem_used_total, in pages" $((used % 4096)) -eq 0
expect "mem_limit" "$limit" -eq 33554432
expect "mem_used_max" "$max" -ge "$used"
expect "same_pages" "$same" -eq 5
expect "pages_compacted" "$compacted" -eq 0
expect "huge_pages" "$huge" -eq 4
expect "huge_pages_since" "$huge_since" -eq 4

# What is trimmed is not there any more; zeroed pages are not stored.
./nbd-do "$uri" "trim 2M 8K" "zero 0 8K" "write 2M 4K random:2"
read -r orig _ _ _ _ same _ huge huge_since < <(node mm_stat)
expect "orig_data_size" "$orig" -eq $((11 * 4096))
expect "same_pages" "$same" -eq 3
expect "huge_pages" "$huge" -eq 3
expect "huge_pages_since" "$huge_since" -eq 5

# Figures may be wider than zram's 8 columns.
test -n "$ZSPAGE_VALGRIND" || {
    ./nbd-do "$uri" "each 32M write 0 128M 0x00"
    expect_match "mm_stat" "$(node mm_stat)" "$line"
    expect "orig_data_size" "$(mm_stat_field 1)" -eq 134217728
}
