#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdinfo --map of a device that was never written: one hole.  Another plugin
# that compresses crashes here.

. ./functions.sh
requires nbdinfo

size=$(pick $((64 << 30)) $((64 << 30)) $((4 << 30)))
start_zspage $size
read -r -a map < <(nbdinfo --map "$uri")
expect "map" "${map[*]}" = "0 $size 3 hole,zero"
expect "lines" "$(nbdinfo --map "$uri" | wc -l)" -eq 1

# And with one page in the middle.
./nbd-do "$uri" "write $((size / 2)) 4K text:1"
nbdinfo --map "$uri" | awk '{ print $1, $2, $3 }' >"$tmp/map"
diff "$tmp/map" - <<END
0 $((size / 2)) 3
$((size / 2)) 4096 0
$((size / 2 + 4096)) $((size / 2 - 4096)) 3
END
