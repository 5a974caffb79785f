#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nor do clients who ask for the biggest answer there is, and do not read it.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "the server must be as fast as usual"

start_with_stats 4G compact_interval=0
# 100,000 lines of block_state.
../nbd-do "$uri" "each 16M write 64M 400M 0x61"
attr block_state | wc -c
./http-abuse "$stats" "$uri" "$server_pid" 3 200 1 big
