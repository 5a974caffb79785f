#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# recompress does zram's, by hand: which pages, how large, how many; nothing is
# tried twice; block_state tells; every page is still what it was.

. "${0%/*}/ctl.sh"

# Usage: tried ARG...
# Recompresses, and prints how many pages were tried.
tried ()
{
    zspagectl recompress auto "$@" >"$tmp/out"
    grep -qE '^auto: [0-9]+ pages tried, [0-9]+ of them smaller now, by [0-9.]+[BKM]$' \
        "$tmp/out" || die "recompress $*: $(cat "$tmp/out")"
    awk '{ print $2 }' "$tmp/out"
}

# Usage: flags REGEX
# How many pages block_state has with such flags.
flags ()
{
    zspagectl get auto block_state | awk '{ print $3 }' | grep -cE "^$1$"
}

start_zspage_stats disksize=64M device=lz4 comp_algorithm=lz4 \
    device=auto comp_algorithm=auto
expect "recomp_algorithm" "$(zspagectl get auto recomp_algorithm)" = "#1: [zstd]"
expect "without" "$(zspagectl get lz4 recomp_algorithm)" = "#1: zstd"
store_pages 4000 mixed auto
huge=$(zspagectl list auto --raw -n -o HUGE-PAGES)
expect "huge pages" "$huge" -gt 50

# Nothing is idle yet, and then three pages of four are.
expect "idle" "$(tried type=idle)" -eq 0
expect_status 0 idle auto
head -c 4096000 "$tmp/pages" >"$tmp/some"
"$zspage_pages" verify "$(export_uri auto)" "$tmp/some" >/dev/null 2>&1
expect "huge_idle" "$(tried type=huge_idle max_pages=10)" -eq 10
expect "more huge" "$(tried type=huge)" -eq $((huge - 10))
expect "huge again" "$(tried type=huge)" -eq 0
expect "incompressible" "$(flags '.*h.*n')" -gt 0
expect "large" "$(tried type=idle threshold=2000)" -gt 100
idle=$(tried type=idle)
expect "idle" "$idle" -gt 100
rest=$(tried)
expect "the rest" "$rest" -gt 100
expect "nothing twice" "$(tried)" -eq 0
expect "recompressed" "$(flags '.*r.')" -eq \
    "$(zspagectl get auto stats.json | jq .compression.recompress_won)"
"$zspage_pages" verify "$(export_uri auto)" "$tmp/pages" >/dev/null 2>&1 ||
    die "the pages are not what they were"

takes='recompress takes type=idle, huge or huge_idle, threshold=1 to 4095'
expect_failure 1 "type=cold: $takes" recompress auto type=cold
expect_failure 1 "threshold=4096: $takes" recompress auto threshold=4096
expect_failure 1 "max_pages=0: $takes" recompress auto max_pages=0
expect_failure 1 "algo=lz4: $takes" recompress auto algo=lz4
expect_failure 1 "huge: $takes" recompress auto huge
expect_failure 1 'comp_algorithm is lz4; auto is what recompresses' \
    recompress lz4
