#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a client was told is written is not forgotten by a reset that began
# before that client came.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 256M compact_interval=0
./test-http-reset-race "$stats" "$uri" "$(export_uri mm_stat)" "$(pick 64 16 8)"
