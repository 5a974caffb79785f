#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# total_mem_limit bounds the memory of all devices together; when it is reached,
# all of them are compacted before a write fails, and what one frees the others
# can have.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 128M compact_interval=0 total_mem_limit=8M device=a device=b

sum ()
{
    echo $(($(mm $used a) + $(mm $used b)))
}

# Incompressible: 2048 pages in all.
../nbd-do "$(export_uri a)" "each 4K write 0 6M random:1"
done_bytes=$(../nbd-do "$(export_uri b)" \
    "until ENOSPC each 4K write 0 8M random:2")
echo "b took $done_bytes bytes after 6 MiB of a"
expect "bytes of b" "$done_bytes" -le $((2 * MIB))
expect "bytes of b" "$done_bytes" -ge $((2 * MIB - 256 * 1024))
expect "memory of both" "$(sum)" -le $((8 * MIB))
../nbd-do "$(export_uri a)" "fails ENOSPC write 8M 4K random:1" \
    "read 0 6M random:1"

../nbd-do "$(export_uri a)" "trim 0 3M"
../nbd-do "$(export_uri b)" "each 4K write 0 4M random:2" "read 0 4M random:2"
expect "memory of both" "$(sum)" -le $((8 * MIB))

http /metrics | awk -v sum="$(sum)" '$1 == "zspage_total_mem_limit_bytes" && $2 == 8388608 { limit = 1 }
    $1 == "zspage_total_mem_used_bytes" && $2 == sum { used = 1 }
    END { exit !(limit && used) }' || die "the metrics do not have the total"

# What compaction of a can free, b gets.
../nbd-do "$(export_uri a)" "trim 0 128M"
../nbd-do "$(export_uri b)" "trim 0 128M"
../nbd-do "$(export_uri a)" "until ENOSPC each 4K write 0 128M text:1" >/dev/null
trim_some 24 1 "$(export_uri a)"
freeable=$(figure memory freeable a)
echo "freeable in a: $freeable"
expect "freeable in a" "$freeable" -ge $MIB
../nbd-do "$(export_uri b)" "each 4K write 0 $((freeable * 3 / 4096))K random:3"
expect "pages_compacted of a" "$(mm $compacted a)" -gt 0
expect "memory of both" "$(sum)" -le $((8 * MIB))
