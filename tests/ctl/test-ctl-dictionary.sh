#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dictionary trains one now, lists what there is, and writes it to a file that
# another server takes; and to no one who may only look.

. "${0%/*}/ctl.sh"
requires curl

start_zspage_stats disksize=64M device=lz4 comp_algorithm=lz4 \
    device=auto comp_algorithm=auto
expect_status 0 dictionary auto
expect "none" "$(wc -l <"$tmp/out")" -eq 1
expect_failure 1 'this device has no dictionary' dictionary auto \
    --export="$tmp/dict"
test ! -e "$tmp/dict" || die "a file was made of no dictionary"
expect_failure 1 'comp_algorithm is lz4; auto is what trains dictionaries' \
    dictionary lz4 --train
expect_failure 1 'dictionary takes train' set auto dictionary forget

# Too little to learn from, and enough.
expect_status 0 dictionary auto --train
expect_match "train" "$(cat "$tmp/out")" '^auto: none was found'
store_pages 4000 mixed auto
expect_status 0 dictionary auto --train
expect "train" "$(cat "$tmp/out")" = "auto: generation 1 is new"
expect_status 0 recompress auto
expect_status 0 dictionary auto
expect "headings" "$(head -n 1 "$tmp/out" | xargs)" = \
    "generation bytes memory pages id newest"
read -r generation bytes _ pages _ newest < <(tail -n 1 "$tmp/out")
expect "generation" "$generation$newest" = "1*"
expect "pages" "$pages" -gt 1000
expect_status 0 dictionary auto --export="$tmp/dict"
expect "file" "$(stat -c '%s %a' "$tmp/dict")" = "$bytes 600"
expect_failure 1 "$tmp/no/dict: No such file" dictionary auto \
    --export="$tmp/no/dict"
"$zspage_pages" verify "$(export_uri auto)" "$tmp/pages" >/dev/null 2>&1 ||
    die "the pages are not what they were"
stop_server

# What was learnt is there from the start; what clients over TCP see is not.
start_zspage_stats disksize=64M device=auto comp_algorithm=auto \
    algorithm_params="dict=$tmp/dict"
expect_status 0 dictionary auto
expect_match "list" "$(tail -n 1 "$tmp/out")" "^ +1 +$bytes .*\\*$"
expect_status 0 dictionary auto --export="$tmp/again"
cmp "$tmp/dict" "$tmp/again" || die "it is another"
