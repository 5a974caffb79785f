#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A device that was filled, trimmed at random and left alone has, within three
# intervals and by the timer alone, no more memory than its objects need.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "it takes too long"

interval=200
start_with_stats 256M "compact_interval=${interval}ms"
fill 128
trim_some 128 1
start=$(now_ms)
before=$(attr mm_stat)

# What the objects need: for each class, as many zspages as are full, and one.
packing ()
{
    attr classes | awk '$1 ~ /^[0-9]+$/ && NF == 18 && $14 > 0 && $15 > 0 {
        zspages = $16 / $17
        objs = $14 / zspages
        pages += int (($15 + objs - 1) / objs) * $17
    } END { printf "%.0f\n", pages * 4096 }'
}

is_packed ()
{
    test "$(figure memory freeable)" = 0
}

# The machine may be busy, so give it some more time.
wait_until 10 is_packed || die "it is not compacted: $(attr mm_stat)"
took=$(($(now_ms) - start))
used_bytes=$(mm $used) compr_bytes=$(mm $compr)
echo "before: $before"
echo "after:  $(attr mm_stat)"
awk -v u="$used_bytes" -v c="$compr_bytes" -v p="$(packing)" -v t="$took" \
    -v i="$interval" 'BEGIN {
    printf "mem_used_total is %.4f x compr_data_size, as little as the ", u / c
    printf "classes allow is %.4f; after %d ms, %.1f intervals\n", p / c, t, t / i
}'
expect "pages_compacted" "$(mm $compacted)" -gt 0
expect "mem_used_total" "$used_bytes" -le "$(packing)"
expect "mem_used_total" $((used_bytes * 100)) -le $((compr_bytes * 110))
expect "ms until then" "$took" -le $((3 * interval + 2000))
