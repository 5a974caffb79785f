#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# reset_on_disconnect=true forgets all pages when the last of several clients
# goes, if one of them wrote; who only looked forgets nothing, and other devices
# keep what they have.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdinfo nbdcopy

start_zspage 64M device=kept device=vm reset_on_disconnect=true

# The server may notice the end of a client a little later.
is_stored ()
{
    test "$(node "$1/mm_stat" | awk '{print $1}')" -eq "$2"
}

../nbd-do "$(export_uri kept)" "write 0 4M text:1"

mkfifo "$tmp/hold"
./nbd-hold "$(export_uri vm)" 2 <"$tmp/hold" >"$tmp/said" &
at_end_kill $!
exec 7>"$tmp/hold"
wait_until 20 test -s "$tmp/said" || die "2 connections are not let in"
../nbd-do "$(export_uri vm)" "write 0 4M text:1"
nbdinfo --size "$(export_uri vm)" >/dev/null
../nbd-do "$(export_uri vm)" "read 0 4M text:1"
is_stored vm 4194304 || die "pages went though a client is there"
exec 7>&-
wait_until 20 is_stored vm 0 || die "pages are kept: $(node vm/mm_stat)"
is_stored kept 4194304 || die "another device's pages went"

# Somebody who reads is not the one whose pages these are.
../nbd-do "$(export_uri vm)" "read 0 4M 0"
nbdinfo --size "$(export_uri kept)" >/dev/null
is_stored kept 4194304 || die "looking at it forgot its pages"
