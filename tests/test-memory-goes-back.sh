#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# After 1 GiB was stored and trimmed, the server's memory is what it was, within
# 2% of that and 4 MiB.

. ./functions.sh
requires nbdcopy

size=$(pick 1024 128 16)
start_zspage 2G
pages=$((size * 256))

# A page, so that what the first write makes is there.
./nbd-do "$uri" "write 0 4K text:1" "trim 0 4K"
empty_pss=$(own_pss_bytes) empty_fd=$(memfd_bytes)

# The same pages as often as needed, each stored anew; on one connection, as
# nbdkit keeps memory for each that there was; and in small requests, as it keeps
# a buffer of the largest for each of its 16 threads.
"$zspage_pages" generate --kind=mixed --seed=1 --pages=$((pages / 8)) \
    "$tmp/pages"
for _ in 0 1 2 3 4 5 6 7; do
    cat "$tmp/pages"
done | nbdcopy --request-size=32768 - "$uri"
expect "orig_data_size" "$(mm_stat_field 1)" -eq $((pages * 4096))
full_pss=$(own_pss_bytes) full_fd=$(memfd_bytes)

./nbd-do "$uri" "each 2M trim 0 2G"
after_pss=$(own_pss_bytes) after_fd=$(memfd_bytes)
echo "of $size MiB, in bytes:"
echo "PSS but for libraries: empty $empty_pss, full $full_pss, trimmed $after_pss"
echo "st_blocks:             empty $empty_fd, full $full_fd, trimmed $after_fd"
node mm_stat

slack=$((4 * 1024 * 1024))
expect "st_blocks when full" "$full_fd" -ge $((size * 1024 * 1024 / 8))
expect "st_blocks" "$after_fd" -le $((empty_fd + empty_fd / 50 + slack))
# Sanitizers and valgrind have memory of their own.
is_slow || {
    expect "PSS when full" "$full_pss" -ge $((size * 1024 * 1024 / 8))
    expect "PSS" "$after_pss" -le $((empty_pss + empty_pss / 50 + slack))
}
