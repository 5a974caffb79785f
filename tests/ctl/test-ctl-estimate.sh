#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# estimate says what a server would take for the pages of a file or a process:
# the same as a server that stores them.

. "${0%/*}/ctl.sh"

nr=$(pick 8000 2000 500)
start_zspage_stats 64M
store_pages "$nr"
read -r orig compr used _ _ same _ huge _ < <(zspagectl get default mm_stat)

expect_status 0 estimate --file "$tmp/pages" --json
jq -e ".pages == $nr and .pages_in_all == $nr and
    ([.estimates[] | \"\(.algorithm) \(.level)\"] ==
        [\"lz4 1\", \"zstd 1\", \"zstd 3\", \"zstd 9\", \"auto null\"]) and
    (.estimates[0] | .data == $orig and .compr == $compr and
        .same_pages == $same and .huge_pages == $huge and
        .memory >= $used and .memory < $used + $nr * 64 + 262144) and
    all(.estimates[]; .write_us > 0 and .read_us > 0 and
        (.ratio - .data / .memory | fabs) < 0.01) and
    .estimates[2].compr < .estimates[0].compr" "$tmp/out" >/dev/null ||
    die "$(zspagectl get default mm_stat; cat "$tmp/out")"

# A table on stdout, progress on stderr.
expect_status 0 estimate --file "$tmp/pages" --bytes --raw
expect "rows" "$(wc -l <"$tmp/out")" -eq 6
expect "titles" "$(head -n 1 "$tmp/out")" = \
    "ALGORITHM LEVEL DATA COMPR MEMORY RATIO WRITE-US READ-US LATER-US HUGE% SAME%"
expect_match "lz4" "$(sed -n 2p "$tmp/out")" "^lz4 1 $orig $compr [0-9]+ "
expect_match "auto" "$(tail -n 1 "$tmp/out")" "^auto - $orig [0-9]+ [0-9]+ "
# A line for each try, which counts its own pages, and for one before.
expect "lines of progress" "$(grep -c '100%' "$tmp/err")" -eq 6
mb=$(awk -v nr="$nr" 'BEGIN { printf "%.0f", nr * 4096 / 1e6 }')
expect_match "progress" "$(tail -n 1 "$tmp/err")" \
    "auto 100%  $mb of $mb MB"

# Some pages stand for all.
expect_status 0 estimate --file "$tmp/pages" --max-pages 100 --json
jq -e ".pages == 100 and .pages_in_all == $nr and
    .estimates[0].data == 409600" "$tmp/out" >/dev/null || die "$(cat "$tmp/out")"

# A part of a page at the end is left out.
printf x >>"$tmp/pages"
expect_status 0 estimate --file "$tmp/pages" --max-pages 100 --json
printf x >"$tmp/small"
expect_failure 1 'has not even one page' estimate --file "$tmp/small"
expect_failure 1 'No such file' estimate --file "$tmp/nosuch"
expect_failure 1 'not a regular file' estimate --file /dev/null
expect_failure 1 'no such process' estimate --pid 2147483647

# Of a process, of which one may look into one's own children at least.
sleep 100 &
at_end_kill $!
status=0
zspagectl estimate --pid $! --json >"$tmp/out" 2>"$tmp/err" || status=$?
if grep -q 'Operation not permitted\|Permission denied' "$tmp/err"; then
    test ! -s "$tmp/out" || die "garbage: $(cat "$tmp/out")"
else
    expect "status" "$status" -eq 0
    jq -e '.pages > 3 and .pages == .pages_in_all' "$tmp/out" >/dev/null ||
        die "$(cat "$tmp/out")"
fi
