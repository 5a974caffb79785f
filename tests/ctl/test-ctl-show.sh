#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# show explains each figure of stats.json; classes is the server's, without
# the classes that have no memory.

. "${0%/*}/ctl.sh"

start_zspage_stats disksize=64M device=one device=two
store_pages 2000 mixed one

expect_status 0 show one --bytes
expect_match "headline" "$(head -n 1 "$tmp/out")" \
    '^one: 7\.8M of data in [0-9.]+M of memory, ratio [0-9.]+; .*beside that$'
expect "longest line" "$(awk '{ if (length > n) n = length } END { print n }' \
    "$tmp/out")" -lt 81
zspagectl get one stats.json >"$tmp/json"
jq -r '.mm_stat + .memory + .io_stat | to_entries[] | "\(.key) \(.value)"' \
    "$tmp/json" >"$tmp/figures"
expect "figures" "$(wc -l <"$tmp/figures")" -gt 15
while read -r name value; do
    # The value is on the line of its title, the name at the end of its text.
    awk -v name="[$name]" -v value="$value" '
        /^  [A-Z]/ { now = $2 }
        index($0, name) && now == value { found = 1 }
        END { exit !found }' "$tmp/out" ||
        die "$name is not shown, or not as $value: $(cat "$tmp/out")"
done <"$tmp/figures"

expect_status 0 show
expect "devices" "$(grep -c '^The device:' "$tmp/out")" -eq 2
expect_failure 1 'no such device; there are: one two' show three

expect_status 0 classes one
zspagectl get one classes >"$tmp/classes"
# Rows with pages_used, and Total, are the same but for blanks.
awk 'NR == 1 || $1 == "Total" || (NF > 15 && $(NF - 2) > 0) { $1 = $1; print }' \
    "$tmp/classes" >"$tmp/expected"
awk '{ $1 = $1; print }' "$tmp/out" >"$tmp/got"
diff "$tmp/expected" "$tmp/got"
