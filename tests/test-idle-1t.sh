#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A device of 1 TiB costs nothing until it is written: it starts at once, and
# trimming, zeroing, mapping and reading it takes no memory and hardly any time.

. ./functions.sh
requires nbdcopy jq
test "$sanitizer" != thread ||
    skip "ThreadSanitizer leaves no room for a mapping of this size"
test -z "$ZSPAGE_VALGRIND" ||
    skip "valgrind leaves no room for a mapping of this size"

start_zspage 1T
rss=$(proc_bytes status VmRSS)
echo "an idle device of 1 TiB: ready after $ready_ms ms," \
    "$((rss / 1000)) kB resident"
is_slow || {
    # 100 ms is what it should be; other things may run on this machine.
    expect "ms until ready" "$ready_ms" -lt 2000
    expect "resident bytes" "$rss" -lt 30000000
}

before=$(stat_field memory mem_resident)
for operation in trim zero reads extents; do
    ./test-idle $operation "$uri" | tee "$tmp/said"
    # 10 ms a request is what it should be.
    awk '/ms each/ { for (i = 2; i <= NF; i++)
        if ($i == "ms" && $(i + 1) == "each,") exit ($(i - 1) > 100) }' \
        "$tmp/said" || die "$operation takes too long"
done
expect "mem_resident" "$(stat_field memory mem_resident)" -eq "$before"
expect "memfd" "$(memfd_bytes)" -eq "$before"
echo "mem_resident before and after: $before bytes," \
    "$(proc_bytes status VmRSS) bytes resident"

# The first write takes what it needs, at any place.
./nbd-do "$uri" "write 1000G 4K text:1" "read 1000G 4K text:1" \
    "read 1T 0 0x00"
expect "mem_resident" "$(stat_field memory mem_resident)" -lt $((4 * 1024 * 1024))
