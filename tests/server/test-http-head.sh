#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HEAD says what GET would, without the body.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0

headers ()
{
    grep -i -E '^(HTTP|Content-)' "$1" | tr -d '\r'
}

for path in /metrics /devices /devices/default/mm_stat \
    /devices/default/stats.json /devices/default/reset /none; do
    http "$path" -I >"$tmp/head"
    http "$path" -D "$tmp/get" -o "$tmp/body"
    expect "$path: headers" "$(headers "$tmp/head")" = "$(headers "$tmp/get")"
    expect "$path: length" "$(wc -c <"$tmp/body")" -eq \
        "$(awk 'tolower ($1) == "content-length:" { print $2 + 0 }' "$tmp/head")"
done
