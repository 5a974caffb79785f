#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PUT compact is answered when all is compacted, and other requests are answered
# meanwhile.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

size=$(pick 256 32 16)
start_with_stats 512M compact_interval=0
fill "$size"
trim_some "$size" 1
before=$(attr mm_stat)
put /devices/default/compact "" &
compact=$!
at_end_kill $compact
nr=0 slowest=0
while kill -0 $compact 2>/dev/null; do
    start=$(now_ms)
    attr mm_stat >/dev/null
    took=$(($(now_ms) - start))
    slowest=$((took > slowest ? took : slowest))
    nr=$((nr + 1))
done
wait $compact
echo "before: $before"
echo "after:  $(attr mm_stat)"
echo "$nr requests were answered meanwhile, the slowest in $slowest ms"
expect "freeable" "$(figure memory freeable)" -eq 0
expect "pages_compacted" "$(mm $compacted)" -gt 0
expect "ms for a request" "$slowest" -le "$(pick 3000 5000 10000)"

# Again, with nothing to do; and with a body, as zram takes anything.
put /devices/default/compact 1
