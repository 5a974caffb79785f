#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# SIGTERM ends the server while clients are busy.  One that is idle nbdkit waits
# for until it goes, and then ends.

. ./functions.sh

# Wait until a client has said that word.
wait_until_said ()
{
    local i

    for ((i = 0; i < ready_seconds * 20; i++)); do
        ! grep -q "$1" "$tmp/$1" || return 0
        sleep 0.05
    done
    die "no client is $1: $(cat "$tmp/$1")"
}

start_zspage 256M
for i in 1 2 3; do
    ./nbd-do "$uri" "write ${i}M 64K text:1" "say busy" \
        "each 64K write 0 256M text:1" >>"$tmp/busy" 2>&1 &
    at_end_kill $!
done
wait_until_said busy
start=$(now_ms)
stop_server || die "the server did not end well"
echo "ended after $(($(now_ms) - start)) ms"

start_zspage 256M
./nbd-do "$uri" "write 0 64K text:1" "say idle" "sleep 500" \
    "read 0 4K text:1" >"$tmp/idle" 2>&1 &
at_end_kill $!
wait_until_said idle
stop_server || die "the server did not end well"
