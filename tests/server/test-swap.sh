#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# swap=true locks what memory is touched, and only that, in the foreground and
# as a daemon; what cannot be had is said in one line, and swap=require makes it
# an error.

# Where other users get to; TMPDIR may be in somebody's private directory.
TMPDIR=/tmp
# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "sanitizers map and touch memory of their own"
requires nbdcopy

# Kilobytes of smaps: Locked, or Rss, of the server.
kilobytes ()
{
    awk -v key="$1:" '$1 == key { n += $2 } END { print n + 0 }' \
        "/proc/$server_pid/smaps"
}

can_lock ()
{
    test "$(ulimit -l)" = unlimited ||
        test $(($(sed -n 's/^CapEff:[[:space:]]*/0x/p' /proc/self/status) >> 14 & 1)) -eq 1
}

can_lock || skip "RLIMIT_MEMLOCK is $(ulimit -l) kB, and no CAP_IPC_LOCK"

# Usage: look HOW
look ()
{
    local locked rss

    mkfifo "$tmp/hold.$1"
    ./nbd-hold "$uri" 4 <"$tmp/hold.$1" >"$tmp/said.$1" &
    at_end_kill $!
    exec 7>"$tmp/hold.$1"
    wait_until 20 test -s "$tmp/said.$1" || die "4 connections are not let in"
    locked=$(kilobytes Locked) rss=$(kilobytes Rss)
    echo "$1: $locked kB locked, $rss kB resident," \
        "$(sed -n 's/^Threads:[[:space:]]*//p' "/proc/$server_pid/status") threads"
    expect "kB locked ($1)" "$locked" -gt 1000
    expect "kB locked ($1)" "$locked" -lt 40960
    expect "kB resident ($1)" "$rss" -lt 40960

    # What is stored is locked, too.
    ../nbd-do "$uri" "write 0 16M random:1" "read 0 16M random:1"
    expect "kB locked with 16 MiB stored ($1)" "$(kilobytes Locked)" \
        -gt $((locked + 16 * 1024))
    exec 7>&-
}

start_zspage 1T swap=true
look foreground
expect "lines of the log" "$(wc -l <"$server_log")" -le 1
start_zspage_daemon 1T swap=true
look daemon
stop_server || die "the server did not end well"

# A process that may lock nothing.
limited=(bash -c 'ulimit -l 0; exec "$@"' -)
if test "$(id -u)" -eq 0; then
    requires setpriv
    limited+=(setpriv --inh-caps=-all --bounding-set=-all --)
fi
what='memory cannot be locked: RLIMIT_MEMLOCK is 0 bytes; unlimited or CAP_IPC_LOCK is needed; .*CAP_SYS_RESOURCE is needed'
"${limited[@]}" nbdkit -f -U - "$plugin" 64M swap=true --run true \
    2>"$tmp/said" || die "swap=true fails: $(cat "$tmp/said")"
expect "lines" "$(wc -l <"$tmp/said")" -eq 1
grep -q "swap=true: $what" "$tmp/said" || die "says $(cat "$tmp/said")"
expect_fails "${limited[@]}" nbdkit -f -U - "$plugin" 64M swap=require \
    --run true 2>"$tmp/said"
grep -q "swap=require: $what" "$tmp/said" || die "says $(cat "$tmp/said")"

# Who becomes another user can do less after that, but serves all the same.
test "$(id -u)" -eq 0 || exit 0
mkdir -m 777 "$tmp/other"
chmod 711 "$tmp"
sock=$tmp/other/sock
(
    ulimit -l 8192
    exec nbdkit -u nobody -P "$tmp/other/pid" -U "$sock" "$plugin" 64G \
        swap=true on_demand=true
) 2>"$tmp/said"
wait_until 20 test -s "$tmp/other/pid" || die "did not start: $(cat "$tmp/said")"
at_end_kill "$(cat "$tmp/other/pid")"
for name in a b c; do
    ../nbd-do "nbd+unix:///$name?socket=$sock" "write 0 64K random:1" \
        "read 0 64K random:1" || die "device $name cannot be used"
done
