#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A statistic does not change under a client that has it open.

. ./functions.sh

start_zspage 64M compact_interval=0
for name in mm_stat classes stats.json; do
    ./test-snapshot "$uri" "$(export_uri "$name")"
    ./nbd-do "$uri" "trim 0 64M"
done
