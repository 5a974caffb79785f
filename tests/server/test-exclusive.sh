#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A device with exclusive=true takes several connections of one process, and
# refuses another process until those have ended; reading statistics is no use
# of it.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires jq nbdcopy

start_with_stats 64M compact_interval=0 device=shared device=vm exclusive=true

# Hold 4 connections to a device by descriptor 7.  Usage: hold DEVICE
hold ()
{
    rm -f "$tmp/hold" "$tmp/said"
    mkfifo "$tmp/hold"
    ./nbd-hold "$(export_uri "$1")" 4 <"$tmp/hold" >"$tmp/said" &
    holder=$!
    at_end_kill $holder
    exec 7>"$tmp/hold"
    wait_until 20 test -s "$tmp/said" || die "4 connections are not let in"
}

hold shared
../nbd-do "$(export_uri shared)" "write 0 4K text:1"
exec 7>&-

hold vm
expect "clients" "$(attr stats.json vm | jq .clients)" -eq 4
expect_fails ../nbd-do "$(export_uri vm)" "write 0 4K text:1"
grep -q "device vm is exclusive and in use by process $holder" "$server_log" ||
    die "the log says $(cat "$server_log")"
node vm/mm_stat >/dev/null
exec 7>&-

# The server may notice their end a little later.
can_write ()
{
    ../nbd-do "$(export_uri vm)" "write 0 4K text:1" 2>/dev/null
}
wait_until 20 can_write || die "the device stays in use"
