#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# qemu-img copies an image in, finds it the same, and sees its holes.

. ./functions.sh
requires qemu-img jq

start_zspage 64M
truncate -s 64M "$tmp/image"
"$zspage_pages" generate --kind=mixed --seed=7 --pages=2048 "$tmp/part"
dd if="$tmp/part" of="$tmp/image" bs=1M seek=8 conv=notrunc status=none
dd if="$tmp/part" of="$tmp/image" bs=1M seek=40 conv=notrunc status=none

qemu-img convert -n -f raw -O raw "$tmp/image" "$uri"
qemu-img compare -f raw -F raw "$tmp/image" "$uri"

# Where there are data in one place, there are in the other.
qemu-img map -f raw --output=json "$uri" >"$tmp/map"
jq -e 'map (select (.data)) | length > 0' "$tmp/map" >/dev/null
jq -e 'map (select (.data) | select (.start < 8388608 or
    (.start >= 16777216 and .start < 41943040) or
    .start >= 50331648)) | length == 0' "$tmp/map" >/dev/null ||
    die "data where there are none: $(cat "$tmp/map")"
jq -e 'map (select (.data | not) | .zero) | all' "$tmp/map" >/dev/null
