#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With swap=true what a server finds in its state files is locked from the start,
# also as a daemon, before anybody reads it.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "sanitizers map and touch memory of their own"

# Kilobytes of the mapping of the state file that are locked.
locked ()
{
    awk '/^[0-9a-f]+-[0-9a-f]+ / { ours = /default\.zspage$/ }
        ours && $1 == "Locked:" { n += $2 } END { print n + 0 }' \
        "/proc/$server_pid/smaps"
}

# Pages that another process has mapped too count in part: the one that was
# killed, until it is gone, or the parent of a daemon.
is_locked ()
{
    test "$(locked)" -gt $((16 * 1024))
}

test "$(ulimit -l)" = unlimited ||
    test $(($(sed -n 's/^CapEff:[[:space:]]*/0x/p' /proc/self/status) >> 14 & 1)) -eq 1 ||
    skip "RLIMIT_MEMLOCK is $(ulimit -l) kB, and no CAP_IPC_LOCK"
make_state_dir

start_zspage 1G swap=true state="$state_dir"
../nbd-do "$uri" "write 0 16M random:1"
kill_nbdkit
start_zspage 1G swap=true state="$state_dir"
wait_until 20 is_locked || die "$(locked) kB are locked"
kill_nbdkit
start_zspage_daemon 1G swap=true state="$state_dir"
wait_until 20 is_locked || die "$(locked) kB are locked, of a daemon"
../nbd-do "$uri" "read 0 16M random:1"
