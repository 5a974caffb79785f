#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The body of a PUT is a value of at most 255 bytes, without zero bytes; a
# newline at its end is no part of it.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0
path=/devices/default/mem_limit

put $path $'1048576\n'
expect "mem_limit" "$(attr mem_limit)" -eq 1048576
put $path 2M -H 'Transfer-Encoding: chunked'
expect "mem_limit" "$(attr mem_limit)" -eq $((2 * MIB))
expect_http 400 "a size" $path -X PUT --data-binary $'1M\n\n'
expect_http 400 "a size" $path -X PUT --data-binary $'\n'
expect_http 400 "a size" $path -X PUT --data-binary ""

printf '1\0M' >"$tmp/body"
expect_http 400 "zero bytes" $path -X PUT --data-binary @"$tmp/body"

# 19 digits at most are a number; but it is read to its end.
printf '%0255d' 1 >"$tmp/body"
expect_http 400 "a size" $path -X PUT --data-binary @"$tmp/body"
printf '%0256d' 1 >"$tmp/body"
expect_http 413 "255 bytes" $path -X PUT --data-binary @"$tmp/body"
truncate -s 20M "$tmp/body"
expect_http 413 "255 bytes" $path -X PUT --data-binary @"$tmp/body"
expect_http 413 "255 bytes" $path -X PUT --data-binary @"$tmp/body" \
    -H 'Transfer-Encoding: chunked'
expect "mem_limit, in the end," "$(attr mem_limit)" -eq $((2 * MIB))
