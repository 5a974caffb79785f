#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# However a server is started and however it ends, it ends well, and leaves
# nothing: no process, no shared memory, no socket of the statistics.  (nbdkit
# itself leaves its own socket.)

. ./functions.sh
requires nbdinfo

# How many descriptors of such a device there are in the whole system.
memfds ()
{
    find /proc/[0-9]*/fd -lname '/memfd:zspage:lifecycle*' 2>/dev/null |
        wc -l || :
}
memfds_before=$(memfds)

# Usage: gone HOW [PID]
gone ()
{
    local i pid=${2:-}

    for ((i = 0; i < stop_seconds * 50; i++)); do
        test -n "$pid" && is_running "$pid" || break
        sleep 0.02
    done
    test -z "$pid" || ! is_running "$pid" ||
        die "$1: process $pid is still there"
    test ! -e "$tmp/stats" || die "$1: the statistics' socket is still there"
    expect "$1: shared memory of the device" "$(memfds)" -eq "$memfds_before"
    echo "$1: nothing is left"
}

options=("stats=unix:$tmp/stats" swap=true device=lifecycle 64M)
client=(./nbd-do)
io=("write 0 1M text:1" "read 0 1M text:1")

# In the foreground; idle.
start_zspage "${options[@]}"
pid=$server_pid
"${client[@]}" "$(export_uri lifecycle)" "${io[@]}"
stop_server || die "foreground: the server did not end well"
gone foreground "$pid"

# As a daemon; with a client connected that is idle until it goes.
start_zspage_daemon "${options[@]}"
pid=$server_pid
expect "parent of the daemon" "$(awk '{ print $4 }' "/proc/$pid/stat")" -ne $$
"${client[@]}" "$(export_uri lifecycle)" "${io[@]}" "say idle" "sleep 500" \
    "read 0 4K text:1" >"$tmp/idle" 2>&1 &
at_end_kill $!
for ((i = 0; i < ready_seconds * 20; i++)); do
    ! grep -q idle "$tmp/idle" || break
    sleep 0.05
done
stop_server || die "daemon: the server did not end well"
gone daemon "$pid"

# nbdkit -s: the client is at standard input and output; this one says nothing.
timeout 60 "${nbdkit[@]}" -s "$plugin" "${options[@]}" </dev/null \
    >"$tmp/greeting" 2>/dev/null || :
expect "greeting by nbdkit -s" "$(head -c 8 "$tmp/greeting")" = NBDMAGIC
gone "nbdkit -s"

# Socket activation, by a client that ends the server.
size=$(timeout 60 nbdinfo --size -- [ "${nbdkit[@]}" -f "$plugin" \
    "stats=unix:$tmp/stats" 64M ])
expect "size by socket activation" "$size" -eq 67108864
gone "socket activation"

# nbdkit --exit-with-parent.
bash -c '"${@:2}" & echo $! >"$1"; sleep 300 & wait -n' - "$tmp/child" \
    "${nbdkit[@]}" -f --exit-with-parent -U "$tmp/sock-parent" \
    -P "$tmp/pid-parent" "$plugin" "${options[@]}" </dev/null >/dev/null 2>&1 &
parent=$!
at_end_kill $parent
for ((i = 0; i < ready_seconds * 50; i++)); do
    test ! -s "$tmp/pid-parent" || break
    sleep 0.02
done
pid=$(cat "$tmp/pid-parent")
kill -KILL $parent
# Nobody waits for it but the system.
gone "--exit-with-parent" "$pid"

# nbdkit --run, which fails.
status=0
run_nbdkit -U - "$plugin" "${options[@]}" --run 'unset LD_PRELOAD; exit 7' ||
    status=$?
expect "status of --run" "$status" -eq 7
gone --run

# An error at start leaves nothing either.
expect_fails run_nbdkit -f -U "$tmp/nowhere/sock" "$plugin" "${options[@]}" \
    2>/dev/null
gone "an error at start"
