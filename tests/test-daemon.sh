#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Without -f the server forks: the device works there, and SIGTERM ends it.

. ./functions.sh
requires nbdcopy

start_zspage_daemon 256M
test "$(cut -d ' ' -f 4 "/proc/$server_pid/stat")" -ne $$ ||
    die "the server did not fork"
half=$(pick 16777216 16777216 2097152)
./nbd-do "$uri" "write 0 $half text:1" "write $half $half text:1" \
    "read 0 $half text:1" "trim 0 $half" "read 0 $half 0x00" \
    "read $half $half text:1"
expect "orig_data_size" "$(mm_stat_field 1)" -eq "$half"
stop_server || die "the server did not end well"
