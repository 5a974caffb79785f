#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The log says when total_mem_limit is nearly used up, each level once, and
# which limit it is when it is.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

# 4096 pages of memory for pages that do not compress.
start_with_stats 64M compact_interval=100ms total_mem_limit=16M device=a device=b

warned ()
{
    grep -c "all devices: $1% of total_mem_limit" "$server_log"
}

is_warned ()
{
    test "$(warned "$1")" -gt 0
}

../nbd-do "$(export_uri a)" "each 128K write 0 8M random:1"
for step in 90:6700K 95:7440K 99:8112K; do
    percent=${step%:*}
    expect "warnings of $percent%" "$(warned "$percent" || :)" -eq 0
    ../nbd-do "$(export_uri b)" "each 4K write 0 ${step#*:} random:1"
    wait_until 10 is_warned "$percent" || die "no warning of $percent%"
done
../nbd-do "$(export_uri b)" "until ENOSPC each 4K write 0 16M random:1" \
    >/dev/null
cat "$server_log"
grep -q 'device b is full: .*; total_mem_limit is 16777216, of which 1677' \
    "$server_log" || die "the log does not say which limit was reached"
for percent in 90 95 99; do
    expect "warnings of $percent%" "$(warned $percent)" -eq 1
done
expect "lines of the log" "$(wc -l <"$server_log")" -eq 4
