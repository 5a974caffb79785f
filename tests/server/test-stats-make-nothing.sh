#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Asking for the statistics of a device that is not there makes none, even where
# devices are made on demand.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdcopy jq

start_with_stats 64M on_demand=true
expect_fails node typo/mm_stat 2>/dev/null
expect "devices" "$(http /devices | jq length)" -eq 0
../nbd-do "$(export_uri vm)" "write 0 4K text:1"
node vm/mm_stat >/dev/null
expect "devices" "$(http /devices | jq length)" -eq 1
