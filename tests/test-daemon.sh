#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Without -f the server forks: the device works there, and SIGTERM ends it.

. ./functions.sh
requires nbdcopy

start_zspage_daemon 256M
test "$(cut -d ' ' -f 4 "/proc/$server_pid/stat")" -ne $$ ||
    die "the server did not fork"
./nbd-do "$uri" "write 0 32M text:1" "read 0 32M text:1" "trim 0 16M" \
    "read 0 16M 0x00" "read 16M 16M text:1"
expect "orig_data_size" "$(mm_stat_field 1)" -eq 16777216
stop_server || die "the server did not end well"
