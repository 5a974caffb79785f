#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Over TCP everything can be read, and nothing written.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0 stats=tcp:127.0.0.1:0
port=$(stats_port)
expect_match "port" "$port" '^[0-9]+$'
../nbd-do "$uri" "write 0 1M text:1"

tcp ()
{
    local path=$1
    shift

    curl -sS --max-time 20 --noproxy '*' "http://127.0.0.1:$port$path" "$@"
}

for path in /devices /metrics /devices/default/mm_stat \
    /devices/default/classes; do
    cmp <(tcp $path -f) <(http $path -f) || die "$path differs"
done

before=$(attr mm_stat)
for name in mem_limit mem_used_max compact idle reset mm_stat; do
    status=$(tcp /devices/default/$name -X PUT -d 1 -o "$tmp/answer" \
        -w '%{http_code}')
    expect "PUT $name" "$status" -eq 405
    expect_match "PUT $name" "$(cat "$tmp/answer")" "read-only"
done
expect "mm_stat" "$(attr mm_stat)" = "$before"
