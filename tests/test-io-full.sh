#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As test-io, on a device that is full most of the time: a write that finds no
# room leaves pages new before the one that did not fit, and old from it on.

. ./functions.sh
requires nbdcopy

start_zspage 192M mem_limit=16M
./test-io --may-be-full "$uri" "${ZSPAGE_SEED:-$RANDOM}" "$(pick 1500 300 40)"
expect "mem_used_max" "$(mm_stat_field 5)" -le 16777216
expect "failed_writes" "$(node io_stat | awk '{ print $2 }')" -gt 0
expect "failed_reads" "$(node io_stat | awk '{ print $1 }')" -eq 0
