#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A TCP socket is for looking only.

. "${0%/*}/ctl.sh"
requires ss

start_zspage 64M stats=tcp:127.0.0.1:0
port=$(ss -Hltnp "src 127.0.0.1" | grep "pid=$server_pid," |
    awk '{ sub(/.*:/, "", $4); print $4; exit }')
test -n "$port" || skip "cannot find the port"
export ZSPAGE_STATS=tcp:127.0.0.1:$port
expect_status 0 --raw -n -o NAME
expect "name" "$(cat "$tmp/out")" = default
expect_failure 1 'read-only' compact
expect_failure 1 'read-only' set default mem_limit 1M
expect_failure 1 'read-only' reset default --yes
