#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PUT reset forgets all pages and counts; not while a client has the device
# open, and not those of another.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0 device=default device=other
../nbd-do "$uri" "write 0 4M text:1" "write 8M 1M random:1" "trim 0 64K"
../nbd-do "$(export_uri other)" "write 0 1M text:1"

mkfifo "$tmp/hold"
./nbd-hold "$uri" 2 <"$tmp/hold" >"$tmp/said" &
at_end_kill $!
exec 7>"$tmp/hold"
wait_until 20 test -s "$tmp/said" || die "nbd-hold is not ready"
expect_http 409 "in use" /devices/default/reset -X PUT -d 1
expect "pages" "$(mm $orig)" -gt 0
exec 7>&-

# The server may notice a little later.
is_reset ()
{
    put /devices/default/reset 1 2>/dev/null
}
wait_until 20 is_reset || put /devices/default/reset 1
expect "mm_stat" "$(attr mm_stat | xargs)" = "0 0 0 0 0 0 0 0 0"
expect "io_stat" "$(attr io_stat | xargs)" = "0 0 0 0"
expect "pages of the other" "$(mm $orig other)" -eq $MIB
../nbd-do "$uri" "read 0 16M 0"
../nbd-do "$uri" "write 0 4K text:5" "read 0 4K text:5"
../nbd-do "$(export_uri other)" "read 0 1M text:1"
