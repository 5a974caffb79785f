#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The socket goes when the server ends; a stale one is replaced; one of a live
# server, and what is no socket, is refused and stays.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires curl

# Usage: expect_refused TEXT; of a server on $stats
expect_refused ()
{
    expect_fails run_nbdkit -f -U - "$plugin" 64M "stats=unix:$stats" \
        --run true >"$tmp/said" 2>&1
    grep -q "stats=unix:$stats: .*$1" "$tmp/said" ||
        die "says $(cat "$tmp/said"), without '$1'"
}

start_with_stats 64M
first=$stats
test -S "$stats" || die "there is no socket"
expect_refused "in use"
attr mm_stat >/dev/null || die "the first server's socket is gone"
stop_server
test ! -e "$first" || die "the socket is there still"

# A daemon opens it before it forks, and removes it too.
stats=$tmp/daemon
start_zspage_daemon 64M "stats=unix:$stats"
attr mm_stat >/dev/null
stop_server
test ! -e "$stats" || die "the socket of the daemon is there still"

# A server that was killed leaves a stale one.
start_with_stats 64M
mv "$stats" "$tmp/stale"
stop_server
stats=$tmp/stale
start_zspage 64M "stats=unix:$stats"
attr mm_stat >/dev/null
stop_server

stats=$tmp/file
echo precious >"$stats"
expect_refused "exists"
expect "content" "$(cat "$stats")" = precious
stats=$tmp/none/socket
expect_refused "No such file"
