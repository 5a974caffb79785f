#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# At mem_limit a write fails with ENOSPC and the rest goes on: old data can be
# read, what does not grow can be overwritten, and after a trim there is room.

. ./functions.sh
requires nbdcopy

limit=$((8 * 1024 * 1024))
start_zspage 64M mem_limit=$limit

# Pages that do not compress, until no more fit.
full=$(./nbd-do "$uri" "write 0 1M text:1" \
    "until ENOSPC each 4K write 4M 32M random:1")
echo "$full bytes of random data fit"
expect "bytes that fit" "$full" -gt $((limit * 9 / 10 - 1024 * 1024 / 2))
expect "mem_used_total" "$(mm_stat_field 3)" -le $limit
expect "mem_used_total" "$(mm_stat_field 3)" -ge $((limit - limit / 50))

end=$((4 * 1024 * 1024 + full))
./nbd-do "$uri" \
    "read 0 1M text:1" "read 4M $full random:1" "read $end 4K 0x00" \
    "fails ENOSPC write $end 4K random:1" "read $end 4K 0x00" \
    "fails ENOSPC write 0 4K random:2" "read 0 4K text:1" \
    "fails ENOSPC write 100 1000 random:2" "read 0 4K text:1" \
    "each 4K write 4M $full random:3" "read 4M $full random:3" \
    "each 4K write 0 1M text:1" "read 0 1M text:1" \
    "write 48M 64K 0x77" "read 48M 64K 0x77" \
    "write 48M 64K 0x00" "read 48M 64K 0x00" \
    "write 4M 4K 0x66" "read 4M 4K 0x66" \
    "write 5M 4K text:4" "read 5M 4K text:4"

# Room for one page is room for the very next write.
./nbd-do "$uri" "until ENOSPC each 4K write 40M 4M random:1" >"$tmp/x"
./nbd-do "$uri" "trim 6M 4K" "write 32M 4K random:5" "read 32M 4K random:5" \
    "fails ENOSPC write $((33554432 + 4096)) 4K random:5" \
    "zero 6295552 4K" "write $((33554432 + 4096)) 4K random:5" \
    "read 32M 8K random:5"

# A request of many pages stops at the one that does not fit.
before=$(node io_stat | awk '{ print $2 }')
./nbd-do "$uri" "trim 7M 8K" "fails ENOSPC write 50M 32K random:6" \
    "read 50M 8K random:6" "read 52436992 24K 0x00"
expect "failed_writes" "$(node io_stat | awk '{ print $2 }')" -eq $((before + 6))
expect "failed_reads" "$(node io_stat | awk '{ print $1 }')" -eq 0
expect "mem_used_max" "$(mm_stat_field 5)" -le $limit
