#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients who ask for compaction again and again, and do not read the answers,
# are cut off like others.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "the server must be as fast as usual"

start_with_stats 64M
./http-abuse "$stats" "$uri" "$server_pid" 2 8 1 deaf
