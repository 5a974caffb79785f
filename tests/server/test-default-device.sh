#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The export "" is the device called default; without one, it is refused, with
# the names there are.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_zspage 64M
../nbd-do "$uri" "write 0 4K text:1"
../nbd-do "$(export_uri default)" "read 0 4K text:1"

start_zspage 64M device=a device=default
../nbd-do "$uri" "write 0 4K text:1"
../nbd-do "$(export_uri default)" "read 0 4K text:1"
../nbd-do "$(export_uri a)" "read 0 4K 0"

start_zspage 64M device=a device=b.2
expect_fails ../nbd-do "$uri" "read 0 4K 0"
grep -q "export '': no such export; devices: a, b.2" "$server_log" ||
    die "the log says $(cat "$server_log")"
expect_fails ../nbd-do "$(export_uri mm_stat)" "read 0 4K 0"
