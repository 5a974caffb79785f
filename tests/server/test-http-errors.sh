#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is wrong with a request is answered with the status for it and a
# sentence.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M

for path in / /metric /metrics/ /devices/ /devices/default \
    /devices/none/mm_stat /devices//mm_stat /devices/default/mm_stat/ \
    /devices/default/none /devices/default/ /devices/default/../devices \
    /favicon.ico "/$(printf 'x%.0s' {1..3000})"; do
    expect_http 404 '[a-z]{4}' "$path" --path-as-is
done
expect_http 404 "no such device" /devices/none/compact -X PUT -d ""
expect_http 404 "no such attribute" /devices/default/none -X PUT -d ""

# Usage: not_allowed REGEX METHODS PATH [CURL-OPTION...]
not_allowed ()
{
    local regex=$1 methods=$2
    shift 2

    expect_http 405 "$regex" "$@" -D "$tmp/headers"
    grep -qi "^Allow: $methods" "$tmp/headers" ||
        die "$*: no Allow: $methods: $(cat "$tmp/headers")"
}

not_allowed "only be read" "GET, HEAD" /metrics -X PUT -d 1
not_allowed "only be read" "GET, HEAD" /devices -X PUT -d 1
not_allowed "only be read" "GET, HEAD" /devices/default/mm_stat -X PUT -d 1
for name in compact reset idle mem_used_max; do
    not_allowed "only be written" "PUT" /devices/default/$name
done
for method in DELETE POST PATCH OPTIONS FOO; do
    not_allowed "GET, HEAD or PUT" "GET, HEAD, PUT" /devices -X $method
done

expect_http 400 "512M" /devices/default/mem_limit -X PUT -d lots
expect_http 400 "512M" /devices/default/mem_limit -X PUT -d -1
expect_http 400 "takes 0" /devices/default/mem_used_max -X PUT -d 1
expect_http 400 "takes all" /devices/default/idle -X PUT -d some
expect_http 400 "takes 1" /devices/default/reset -X PUT -d 0
expect_http 400 "takes 1" /devices/default/reset -X PUT -d ""
