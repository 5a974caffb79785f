#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients of the statistics that stall, dribble, send garbage or headers without
# end, 200 at a time, do not slow block I/O down, take little memory, and keep
# nobody waiting.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "the server must be as fast as usual"

start_with_stats 64M
./http-abuse "$stats" "$uri" "$server_pid" 3 200 1 stall dribble garbage headers
test ! -s "$server_log" || die "the log says something: $(head "$server_log")"
