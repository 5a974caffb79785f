#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# In a memory cgroup with half of what the data need, a write that does not fit
# fails with ENOSPC, instead of the kernel killing the server; what was written
# before is all there, and after a trim there is room again.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "a limit that holds a sanitizer tests nothing"
requires nbdcopy

group=
remove_group ()
{
    # Its processes are on their way out.
    test -z "$group" || wait_until 10 rmdir "$group" 2>/dev/null || :
}

# Make a group of 96 MiB, in version 1 or 2.  Sets group.
make_group ()
{
    local v1 v2 name=zspage-test.$$

    v1=$(awk '$0 ~ / - cgroup [^ ]* .*memory/ { print $5; exit }' /proc/self/mountinfo)
    v2=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
    if test -n "$v2" && mkdir "$v2/$name" 2>/dev/null; then
        group=$v2/$name
        if echo $limit 2>/dev/null >"$group/memory.max"; then
            echo 0 2>/dev/null >"$group/memory.swap.max" || :
            echo "a group of version 2"
            return
        fi
        rmdir "$group"
        group=
    fi
    if test -n "$v1" && mkdir "$v1/$name" 2>/dev/null; then
        group=$v1/$name
        if echo $limit 2>/dev/null >"$group/memory.limit_in_bytes"; then
            echo "a group of version 1"
            return
        fi
        rmdir "$group"
        group=
    fi
    skip "no memory cgroup can be made here"
}

limit=$((96 * 1024 * 1024))
make_group
at_end_too ()
{
    local status=$1

    stop_server || status=1
    remove_group
    at_end "$status"
}
trap 'at_end_too $?' EXIT

# The server is born in the group.
nbdkit=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "${nbdkit[@]}")
start_zspage 256M mem_limit=1G

written=$(../nbd-do "$uri" "until ENOSPC each 4K write 0 192M random:1")
echo "$((written / 1048576)) MiB were written in a group of $((limit / 1048576))"
expect "bytes written" "$written" -gt $((limit / 2))
expect "bytes written" "$written" -lt $limit
kill -0 "$server_pid" || die "the server was killed"
pages=$((written / 4096))
../nbd-do "$uri" "each 4K read 0 $((pages * 4))K random:1"
more=$(../nbd-do "$uri" "until ENOSPC each 4K write 200M 16M random:2")
expect "bytes written after that" "$more" -lt 1048576
../nbd-do "$uri" "trim 200M 16M"
grep -q 'device default is full' "$server_log" || die "nothing in the log"
# Larger requests take buffers of nbdkit's, 2 MiB in all.
for _ in 1 2 3; do
    ../nbd-do "$uri" "trim 0 16M" "each 128K write 0 12M random:1"
done
../nbd-do "$uri" "read 12M 4M 0" "each 4K read 16M $((pages * 4 - 16384))K random:1"
for events in "$group/memory.events" "$group/memory.oom_control"; do
    test -e "$events" || continue
    cat "$events"
    expect_fails grep -E '^oom_kill [1-9]' "$events"
done
