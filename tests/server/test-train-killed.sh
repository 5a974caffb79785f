#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A server that is told to end while it trains a dictionary ends as ever; one that
# is killed then leaves nothing behind, and the next one starts in its place.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

# Store something, and order training until it is seen to go on: a sample takes
# memory.
train ()
{
    local before order i

    "$zspage_pages" store "$uri" "$tmp/pages" >/dev/null 2>&1
    before=$(figure memory mem_meta)
    for ((i = 0; i < 100; i++)); do
        put /devices/default/dictionary train >/dev/null 2>&1 &
        order=$!
        while is_running $order; do
            test "$(figure memory mem_meta)" -lt $((before + MIB)) || return 0
        done
    done
    return 1
}

"$zspage_pages" generate --kind=mixed --seed=1 --pages=4000 "$tmp/pages" \
    >/dev/null
mkdir "$tmp/home"
export TMPDIR=$tmp/home
cd "$tmp/home" || die "no directory"
for ((round = 1; round <= 3; round++)); do
    start_with_stats 64M compact_interval=0
    train || die "it does not train"
    stop_server
done

start_with_stats 64M compact_interval=0
train || die "it does not train"
kill -KILL "$server_pid"
wait "$server_pid" 2>/dev/null || :
server_pid=
expect "files left behind" "$(find "$tmp/home" -type f | wc -l)" -eq 0
start_with_stats 64M compact_interval=0
train || die "it does not train"
