#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As test-io, on a device that is full most of the time: a write that finds no
# room leaves pages new before the one that did not fit, and old from it on.

. ./functions.sh
requires nbdcopy

limit=$(pick 16777216 16777216 1048576)
start_zspage "$(pick 192M 192M 48M)" mem_limit="$limit"
./test-io --may-be-full "$uri" "${ZSPAGE_SEED:-$RANDOM}" "$(pick 700 200 50)" \
    "$(pick 32M 32M 512K)"
expect "mem_used_max" "$(mm_stat_field 5)" -le "$limit"
expect "failed_writes" "$(node io_stat | awk '{ print $2 }')" -gt 0
expect "failed_reads" "$(node io_stat | awk '{ print $1 }')" -eq 0
