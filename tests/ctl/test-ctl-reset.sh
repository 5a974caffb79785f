#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# reset loses data only when told so twice, and not while the device is used.

. "${0%/*}/ctl.sh"
requires nbdcopy

start_zspage_stats 64M
store_pages 1000
data ()
{
    zspagectl --raw -nb -o DATA
}
expect "data" "$(data)" -eq 4096000

expect_failure 2 'default: not reset: the 3\.9M of data .* --yes' reset default
expect_failure 2 '--yes' set default reset 1
expect_failure 1 'nosuch: no such device; there are: default' reset nosuch
expect_failure 1 'nosuch: no such device' reset nosuch --yes
expect "data" "$(data)" -eq 4096000

# Waits until the device has a client, or none.  Usage: wait_clients OP 0
wait_clients ()
{
    local i

    for ((i = 0; i < 500; i++)); do
        test "$(zspagectl --raw -n -o CLIENTS)" "$1" "$2" && return
        sleep 0.02
    done
    die "clients are not $1 $2: $(zspagectl --raw -n -o CLIENTS)"
}

# Somebody has it open: a copy to a pipe that nobody empties.
mkfifo "$tmp/fifo"
exec 9<>"$tmp/fifo"
nbdcopy "$uri" - >&9 &
copy_pid=$!
wait_clients -gt 0
expect_failure 1 'default: reset: the device is in use' reset default --yes
expect "data" "$(data)" -eq 4096000
kill "$copy_pid"
wait "$copy_pid" || :
wait_clients -eq 0

expect_status 0 reset --yes default
expect "data" "$(data)" -eq 0
