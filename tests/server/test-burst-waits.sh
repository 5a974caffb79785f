#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# While pages are being stored all the time, nothing is compacted, however much
# there would be to free; when that ends, it is.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "it must store a MiB in each interval"

interval=500
start_with_stats 1G "compact_interval=${interval}ms"

# Trim half of what is stored, here and there, and store more than that of what
# does not fit into the holes.
commands=("each 1M write 0 64M text:1")
for ((i = 0; i < 1024; i++)); do
    commands+=("write $((128 * 1024 + i * 256))K 256K random:2"
               "trim $((i * 64))K 16K" "trim $((i * 64 + 32))K 16K" "sleep 5")
done
../nbd-do "$uri" "${commands[@]}" &
writer=$!
at_end_kill $writer

start=$(now_ms) nr_looks=0 freeable=0
while stat=$(attr mm_stat) && free=$(figure memory freeable) &&
    kill -0 $writer 2>/dev/null; do
    nr_looks=$((nr_looks + 1))
    last=$stat
    freeable=$free
    lasted=$(($(now_ms) - start))
    expect "pages_compacted during the burst" \
        "$(awk -v n=$compacted '{ print $n }' <<<"$stat")" -eq 0
    test "$lasted" -lt $((8 * interval)) || break
    sleep 0.05
done
kill $writer 2>/dev/null || :
wait $writer || :
echo "looked $nr_looks times in $lasted ms; the last time $freeable bytes" \
    "could have been freed: $last"
expect "ms of burst" "$lasted" -ge $((3 * interval))
expect "freeable bytes" "$freeable" -ge $MIB

is_compacted ()
{
    test "$(mm $compacted)" -gt 0
}
wait_until 10 is_compacted || die "it is not compacted afterwards either"
attr mm_stat
