#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Trims of 4 KiB, in any order, give all memory back.  Another plugin never
# frees a page for them.

. ./functions.sh
requires nbdcopy

size=$(pick 64 32 8)
start_zspage 256M
./nbd-do "$uri" "write 0 4K text:1" "trim 0 4K"
empty=$(memfd_bytes)
./nbd-do "$uri" "each 1M write 0 ${size}M random:1" \
    "each 1M write 64M ${size}M text:1"
full=$(memfd_bytes)
./nbd-do "$uri" "each 4K trim 0 ${size}M" "each 4K trim 64M ${size}M" \
    "read 0 256K 0x00"
after=$(memfd_bytes)
echo "memfd: empty $empty, full $full, trimmed $after bytes"
expect "orig_data_size" "$(mm_stat_field 1)" -eq 0
expect "compr_data_size" "$(mm_stat_field 2)" -eq 0
expect "mem_used_total" "$(mm_stat_field 3)" -eq 0
expect "full" "$full" -gt $((size * 1024 * 1024))
# The slot table stays, 0.2% of it, and the stock.
expect "after" "$after" -le \
    $((empty + 4 * 1024 * 1024 + size * 1024 * 1024 / 50))
