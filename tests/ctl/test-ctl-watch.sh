#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# watch makes a log where there is no terminal, and paints over itself where
# there is one; it ends after as many looks as wanted.

. "${0%/*}/ctl.sh"

start_zspage_stats 64M
start=$(now_ms)
expect_status 0 watch --interval 200ms --count 3
expect "ms" $(($(now_ms) - start)) -ge 400
expect "lines" "$(wc -l <"$tmp/out")" -eq 4
expect_match "title" "$(head -n 1 "$tmp/out")" '^TIME +NAME +DISKSIZE'
for row in 2 3 4; do
    expect_match "row" "$(sed -n "${row}p" "$tmp/out")" \
        '^20[0-9-]+T[0-9:]+[+-][0-9]{4} default +64M'
done

if command -v script >/dev/null; then
    TERM=dumb script -qec "'$ctl' watch -i 0.2 -c 2" /dev/null >"$tmp/tty" \
        </dev/null
    expect "paints" "$(grep -c $'\033\\[H\033\\[J' "$tmp/tty")" -eq 2
    expect "rows" "$(grep -c '^default' "$tmp/tty")" -eq 2
fi

for interval in 0 99ms -1 '' x 1h 1e9 nan 2d; do
    expect_failure 2 'a time from 100ms to 1440m is needed' \
        watch "--interval=$interval" --count=1
done
expect_failure 2 'a number from 1 is needed' watch --count 0

# It does not outlive the server.
zspagectl watch --interval 100ms >"$tmp/out" 2>"$tmp/err" &
watch_pid=$!
sleep 0.5
stop_server
status=0
wait "$watch_pid" || status=$?
expect "status" "$status" -eq 1
expect_match "why" "$(cat "$tmp/err")" '^zspagectl: unix:.*/stats: '
