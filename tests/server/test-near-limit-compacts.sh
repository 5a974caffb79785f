#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With the limit near, compaction does not wait for the end of a burst, nor for
# the limit.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "it must store a MiB in each interval"

start_with_stats 2G compact_interval=1s

# A burst that leaves much to free, as what it stores does not fit into the
# holes; and then one that takes little memory.
commands=("each 1M write 0 64M text:1")
for ((i = 0; i < 512; i++)); do
    commands+=("write $((128 * 1024 + i * 256))K 256K random:2"
               "trim $((i * 128))K 32K" "trim $((i * 128 + 64))K 32K" "sleep 2")
done
commands+=("say slow")
for ((i = 0; i < 3000; i++)); do
    commands+=("write $((1024 * 1024 + i * 32))K 32K random:1" "sleep 20")
done
../nbd-do "$uri" "${commands[@]}" >"$tmp/said" &
writer=$!
at_end_kill $writer
wait_until 60 test -s "$tmp/said" || die "the burst does not come on"
test "$(figure memory freeable)" -ge $MIB ||
    skip "the machine is so slow that the burst was taken for none"
put /devices/default/mem_limit $(($(mm $used) * 100 / 91))
before=$(mm $compacted)
freeable=$(figure memory freeable)
echo "before: $(attr mm_stat), freeable $freeable"

is_compacted ()
{
    stat=$(attr mm_stat)
    test "$(awk -v n=$compacted '{ print $n }' <<<"$stat")" -gt "$before"
}
wait_until 5 is_compacted || die "it is not compacted: $(attr mm_stat)"
kill -0 $writer || die "the burst has ended"
echo "after:  $stat"
put /devices/default/mem_limit 0
kill $writer
wait $writer || :

read -r _ _ _ mem_limit _ <<<"$stat"
awk -v n=$used '{ print $n }' <<<"$stat" >"$tmp/used"
expect "mem_used_total when it was" "$(cat "$tmp/used")" -lt "$mem_limit"
expect "failed_writes" "$(figure io_stat failed_writes)" -eq 0
