#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# comp_algorithm=auto: left alone, the server trains a dictionary on what is
# stored and recompresses it, and every page is still what it was.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "it takes too long"

start_with_stats 256M comp_algorithm=auto compact_interval=200ms \
    recompress_cpu=100
"$zspage_pages" generate --kind=mixed --seed=1 --pages=8192 "$tmp/pages" \
    >/dev/null
nbdcopy "$tmp/pages" "$uri"
before=$(attr mm_stat)
used_before=$(mm $used)

trained ()
{
    test "$(figure compression generation)" != 0
}

settled ()
{
    test "$(figure compression settled_pages)" -ge \
        $(($(figure compression lz4_pages) + $(figure compression zstd_pages))) &&
        test "$(figure memory freeable)" = 0
}

wait_until 10 trained || die "no dictionary: $(attr mm_stat)"
expect "comp_algorithm" "$(attr comp_algorithm)" = "lz4 zstd [auto]"
# Two passes, 30 s apart.
wait_until 60 settled || die "not recompressed: $(http GET /devices/default/stats.json)"
echo "before: $before"
echo "after:  $(attr mm_stat)"
expect "recompress_won" "$(figure compression recompress_won)" -gt 0
expect "dictionary_pages" "$(figure compression dictionary_pages)" -gt 0
expect "dictionary_mem" "$(figure compression dictionary_mem)" -gt 0
expect "mem_used_total" "$(mm $used)" -lt "$used_before"
"$zspage_pages" verify "$uri" "$tmp/pages"
