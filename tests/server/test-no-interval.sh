#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With compact_interval=0 nothing is compacted but on request.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0
fill 32
trim_some 32 1
sleep 1
expect "pages_compacted" "$(mm $compacted)" -eq 0
expect "freeable" "$(figure memory freeable)" -gt 0
put /devices/default/compact ""
expect "pages_compacted" "$(mm $compacted)" -gt 0
