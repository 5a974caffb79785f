#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# state prints what was found at the start; check says whether a file is whole,
# names the pages that are not, and changes nothing.

. "${0%/*}/ctl.sh"

make_state_dir
dir=$state_dir

start_zspage_stats state="$dir" disksize=64M device=a device=b checksum=true
expect_status 0 state
expect_match "new" "$(tr "\n" " " <"$tmp/out")" '^a:.*was_closed +new.*b:.*checksum +true'
store_pages 3000 mixed a
cp "$tmp/pages" "$tmp/pages-a"
store_pages 2000 mixed b
expect_failure 1 "a.zspage: process [0-9]+ has it open" check "$dir/a.zspage"
kill_nbdkit
expect_status 0 check "$dir/a.zspage"
expect_match "check" "$(tr "\n" " " <"$tmp/out")" 'not closed, by process [0-9]+.*3000 pages are whole; 0 are damaged; 0 have'

start_zspage_stats state="$dir" disksize=64M device=a device=b checksum=true
expect_status 0 state a
expect_match "found" "$(tr "\n" " " <"$tmp/out")" 'was_closed +false.*recovered_pages +3000.*lost_pages +0'
expect "figure" "$(zspagectl -n --raw -o RECOVERED,LOST list a)" = "3000 0"
"$zspage_pages" verify "$(export_uri a)" "$tmp/pages-a" >/dev/null 2>&1 ||
    die "the pages are not what they were"
stop_server

# A word of b's slot table that cannot be right, and an object that is damaged.
expect_status 0 check "$dir/b.zspage"
expect_match "check" "$(tr "\n" " " <"$tmp/out")" 'it was closed.*2000 pages are whole'
printf '\377\377\377\377\377\377\377\377' |
    dd of="$dir/b.zspage" bs=1 seek=$((4096 + 8 * 7)) conv=notrunc status=none
cp --sparse=always "$dir/b.zspage" "$dir/copy"
expect_status 1 check "$dir/b.zspage"
expect_match "check" "$(tr "\n" " " <"$tmp/out")" 'page 7 \(at byte 28672\): its slot cannot be trusted.*1999 pages are whole'
expect_match "check" "$(cat "$tmp/err")" 'b.zspage: 1 pages cannot be read'
cmp "$dir/copy" "$dir/b.zspage" || die "check changed the file"

printf foreign | dd of="$dir/b.zspage" bs=1 conv=notrunc status=none
expect_failure 1 'b.zspage: it is not a state file' check "$dir/b.zspage"
expect_failure 1 'missing: No such file' check "$dir/missing"

start_zspage_stats disksize=64M
expect_status 0 get default state
expect "without" "$(cat "$tmp/out")" = none
