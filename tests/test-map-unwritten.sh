#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdinfo --map of a device that was never written: one hole.  Another plugin
# that compresses crashes here.

. ./functions.sh
requires nbdinfo

start_zspage 64G
read -r -a map < <(nbdinfo --map "$uri")
expect "map" "${map[*]}" = "0 68719476736 3 hole,zero"
expect "lines" "$(nbdinfo --map "$uri" | wc -l)" -eq 1

# And with one page in the middle.
./nbd-do "$uri" "write 32G 4K text:1"
nbdinfo --map "$uri" | awk '{ print $1, $2, $3 }' >"$tmp/map"
diff "$tmp/map" - <<END
0 34359738368 3
34359738368 4096 0
34359742464 34359734272 3
END
