#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The log says when 90, 95 and 99% of a limit are reached, each once, of the
# right device.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

# 4096 pages of memory for pages that do not compress.
start_with_stats 64M compact_interval=100ms device=other device=small \
    mem_limit=16M

warned ()
{
    grep -c "device small: $1% of mem_limit" "$server_log"
}

is_warned ()
{
    test "$(warned "$1")" -gt 0
}

# Pages up to that number.
fill_to ()
{
    ../nbd-do "$(export_uri small)" "each 128K write 0 $(($1 * 4))K random:1"
}

../nbd-do "$(export_uri other)" "write 0 16M random:1"
fill_to 3600
for step in 90:3700 95:3900 99:4060; do
    percent=${step%:*}
    expect "warnings of $percent%" "$(warned "$percent" || :)" -eq 0
    fill_to "${step#*:}"
    wait_until 10 is_warned "$percent" || die "no warning of $percent%"
done

# No more, whatever goes on near the limit.
for _ in 1 2 3 4; do
    ../nbd-do "$(export_uri small)" "trim 0 256K" "write 0 256K random:2"
    sleep 0.15
done
cat "$server_log"
for percent in 90 95 99; do
    expect "warnings of $percent%" "$(warned $percent)" -eq 1
done
expect "lines of the log" "$(wc -l <"$server_log")" -eq 3
