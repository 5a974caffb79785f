#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# state=: a server that is killed at any instant, while it writes, trims,
# compacts, recompresses, trains dictionaries or recovers, leaves every page that
# a client was told is written to the next one, without and with checksum=true.
#
# ZSPAGE_KILLS says how often, ZSPAGE_SEED what is done and when.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires curl
make_state_dir

kills=${ZSPAGE_KILLS:-$(pick 20 10 3)}
seed=${ZSPAGE_SEED:-$RANDOM}
echo "seed $seed: repeat with ZSPAGE_SEED=$seed"
RANDOM=$((seed % 32768))
pages=$(pick 12288 4096 1024)
slower=$(pick 1 4 10)
killed_pid=

# Options that the next server may have besides; in some rounds there is no room
# for all that is written.
options ()
{
    options=(state="$state_dir" compact_interval=50ms recompress_cpu=100)
    options+=(disksize=$((pages * 4))K)
    test $((round % 4)) -ne 3 || options+=(mem_limit=$((pages))K)
    options+=(device=plain device=checked checksum=true)
}

# Usage: expect_recovered [was-not-closed PID|was-closed]
expect_recovered ()
{
    local ended=$1 device

    if grep -Ei 'lost|damaged|cannot' "$server_log"; then
        die "round $round: the server says so"
    fi
    for device in plain checked; do
        grep -Eq "device $device: [0-9]+ pages recovered in [0-9]+ ms; the file $ended" \
            "$server_log" ||
            die "round $round: device $device: not '$ended': $(cat "$server_log")"
    done
}

# Kill one more as it starts, perhaps while it recovers.
kill_while_it_starts ()
{
    "${nbdkit[@]}" -f --exit-with-parent -U "$tmp/sock" "$plugin" \
        "${options[@]}" </dev/null >"$tmp/server-start.log" 2>&1 &
    server_pid=$!
    sleep "0.$(printf %03d $((RANDOM % 100 * slower + 5)))"
    kill_nbdkit
    rm -f "$tmp/sock"
    killed_pid=
    ! grep -Ei 'lost|damaged|cannot' "$tmp/server-start.log" ||
        die "round $round: the server that was killed as it started says so"
}

# Under load there is little time for it.
train_and_recompress ()
{
    local device

    for device in plain checked; do
        put /devices/$device/dictionary train
        put /devices/$device/recompress max_pages=1500
    done
}

# What else the server is asked to do, until it is killed.
# Usage: give_orders DEVICE SEED
give_orders ()
{
    local verbs=(recompress dictionary recompress compact recompress compact)
    local verb body

    RANDOM=$2
    while :; do
        verb=${verbs[RANDOM % 6]} body=
        test $verb != dictionary || body=train
        put "/devices/$1/$verb" "$body" || :
    done >/dev/null 2>&1
}

start_round ()
{
    options
    if test $((round % 5)) -eq 4 && test -n "$killed_pid"; then
        kill_while_it_starts
    fi
    start_with_stats "${options[@]}"
    test "$round" -eq 1 ||
        expect_recovered "was not closed \(by process ${killed_pid:-[0-9]+}\)"
    test $((round % 4)) -ne 2 || train_and_recompress
    uris="$(export_uri plain) $(export_uri checked)"
}

# Usage: expect_answer ANSWER
expect_answer ()
{
    local line

    read -r line <&"$from_client" || die "round $round: the client ended"
    expect "the client's answer" "$line" = "$1"
}

coproc client { exec ./kill-client "$seed" "$pages"; }
# Bash forgets these when the client ends.
exec {to_client}>&"${client[1]}" {from_client}<&"${client[0]}"
eval "exec ${client[1]}>&-"
client_pid=$!
at_end_kill $client_pid

start=$(now_ms)
for ((round = 1; round <= kills; round++)); do
    start_round
    ms=$(((50 + RANDOM % 550) * slower))
    # Half of the time the server gets to the other things that it does.
    echo "load $uris $server_pid $ms $((round % 2 * 4000))" >&"$to_client"
    expect_answer loading
    orders=()
    for device in plain checked; do
        give_orders $device $RANDOM &
        orders+=($!)
        at_end_kill $!
    done
    expect_answer killed
    kill -KILL "${orders[@]}" 2>/dev/null || :
    wait "${orders[@]}" 2>/dev/null || :
    killed_pid=$server_pid
    wait "$server_pid" 2>/dev/null || :
    server_pid=
done

# One that ends as it should, and one after it.
start_round
echo "verify $uris" >&"$to_client"
expect_answer verified
stop_server
options
start_with_stats "${options[@]}"
expect_recovered "was closed"
echo "verify $(export_uri plain) $(export_uri checked)" >&"$to_client"
expect_answer verified
for device in plain checked; do
    expect "lost_pages of $device" "$(figure state lost_pages $device)" -eq 0
    expect "failed_reads of $device" "$(attr io_stat $device | awk '{ print $1 }')" -eq 0
    expect "generations of $device" "$(figure compression generation $device)" -gt 0
done
exec {to_client}>&-
cat <&"$from_client"
wait_for $client_pid 10 || die "the client failed"
echo "$kills kills in $((($(now_ms) - start) / 1000)) s"
