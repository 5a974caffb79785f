#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# compact gives memory back and says how much, of one device or all.

. "${0%/*}/ctl.sh"
requires python3

start_zspage_stats disksize=64M device=one device=two
expect_status 0 --raw -n -o NAME
expect "devices" "$(xargs <"$tmp/out")" = "one two"
# Three pages of four become zeros, so that every zspage has holes.
for device in one two; do
    store_pages 8000 text "$device"
    python3 -c '
import sys
page = 4096
with open (sys.argv[1], "r+b") as f:
    for i in range (8000):
        if i % 4:
            f.seek (i * page)
            f.write (bytes (page))' "$tmp/pages"
    "$zspage_pages" store "$(export_uri "$device")" "$tmp/pages" \
        >/dev/null 2>&1
done
freeable=$(zspagectl list one --raw -nb -o MEM-FREEABLE)
expect "freeable" "$freeable" -gt 1000000

expect_status 0 compact one
expect_match "one" "$(cat "$tmp/out")" \
    '^one: [1-9][0-9]* pages \([0-9.]+M\) freed, [0-9.]+[KM] in use$'
pages=$(awk '{ print $2 }' "$tmp/out")
expect "pages" "$pages" -eq "$(zspagectl list one --raw -n -o MIGRATED)"
expect "bytes" $((pages * 4096)) -ge $((freeable / 10 * 9))
expect "two" "$(zspagectl list two --raw -n -o MIGRATED)" -eq 0

expect_status 0 compact
expect "lines" "$(wc -l <"$tmp/out")" -eq 2
expect_match "one" "$(head -n 1 "$tmp/out")" '^one: 0 pages \(0B\) freed'
expect_match "two" "$(tail -n 1 "$tmp/out")" '^two: [1-9][0-9]* pages'
expect_failure 1 'three: no such device; there are: one two$' compact one three
