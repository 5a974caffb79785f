#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# This machine swaps to a server, in seconds and without QEMU: nbdfuse makes the
# export a file, a loop device makes that a disk, and a hog in a small memory
# cgroup makes the kernel swap.
#
# A process of its own takes all down again, in order, as soon as this test is
# gone, however that comes.

. "${srcdir:-.}/qemu.sh"
requires nbdfuse losetup mkswap swapon swapoff curl setsid
requires_plain "this machine's swap does not wait"
test "$(id -u)" -eq 0 || skip "not root"
test -c /dev/fuse || skip "there is no /dev/fuse"
test -e /dev/loop-control || skip "there is no /dev/loop-control"
test -x "$hog" || die "there is no $hog: run make check-qemu"

# Set cgroup to a new memory cgroup, limited to $1 MiB.
make_cgroup ()
{
    local top file

    if test -e /sys/fs/cgroup/memory/memory.limit_in_bytes; then
        top=/sys/fs/cgroup/memory
        file=memory.limit_in_bytes
    elif grep -qsw memory /sys/fs/cgroup/cgroup.subtree_control; then
        top=/sys/fs/cgroup
        file=memory.max
    else
        skip "there is no memory cgroup"
    fi
    cgroup=$top/zspage-test.$$
    mkdir "$cgroup" 2>/dev/null || skip "no cgroup can be made"
    echo $(($1 * MIB)) >"$cgroup/$file" || skip "no cgroup can be limited"
}

mkdir "$tmp/state" "$tmp/mnt"

# Each of the files that this reads says what there is to take down.
cat >"$tmp/cleaner" <<'END'
state=$1/state mnt=$1/mnt
# What was in use a moment ago may be so still.
again ()
{
    for i in 1 2 3 4 5 6 7 8 9; do
        ! "$@" 2>&- || return 0
        sleep 0.2
    done
    "$@"
}

while kill -0 "$2" 2>&- && ! test -e "$1/stop"; do sleep 0.1; done
if test -s "$state/cgroup"; then
    cgroup=$(cat "$state/cgroup")
    while read -r pid; do kill -KILL "$pid"; done <"$cgroup/cgroup.procs"
fi
test ! -s "$state/swap" || swapoff "$(cat "$state/swap")"
test ! -s "$state/loop" || losetup -d "$(cat "$state/loop")"
if grep -q " $mnt fuse" /proc/mounts; then
    again umount "$mnt" || umount -l "$mnt"
fi
test ! -s "$1/swap.pid" || kill -TERM "$(cat "$1/swap.pid")"
test ! -s "$state/cgroup" || again rmdir "$cgroup"
kill -0 "$2" 2>&- || rm -rf --one-file-system "$1"
END
setsid bash "$tmp/cleaner" "$tmp" $$ >"$tmp/server-cleaner.log" 2>&1 </dev/null &
cleaner=$!

# Take all down and wait for that.
clean ()
{
    test -n "$cleaner" || return 0
    touch "$tmp/stop"
    wait "$cleaner" || :
    cleaner=
}
trap 'status=$?; clean; at_end $status' EXIT

make_cgroup 64
echo "$cgroup" >"$tmp/state/cgroup"
# shellcheck disable=SC2034  # serve reads it
serve_apart=yes
serve swap 512M
setsid nbdfuse "$tmp/mnt/disk" "nbd+unix:///?socket=$tmp/swap.sock" \
    </dev/null >"$tmp/server-nbdfuse.log" 2>&1 &
wait_until 10 test -e "$tmp/mnt/disk" || skip "nbdfuse cannot mount:" \
    "$(tail -n 1 "$tmp/server-nbdfuse.log")"
loop=$(losetup -f --show --direct-io=on "$tmp/mnt/disk") ||
    skip "no loop device can be had"
echo "$loop" >"$tmp/state/loop"
quietly mkswap "$loop"
before=$(awk '$1 == "pswpout" { print $2 }' /proc/vmstat)
echo "$loop" >"$tmp/state/swap"
swapon -d -p -5 "$loop" 2>/dev/null || swapon -d "$loop" || skip "swapon fails"
show_mm before swap

: >"$tmp/hog.log"
# shellcheck disable=SC2016  # for the inner shell
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 160 2 1' - \
    "$cgroup" "$hog" >"$tmp/hog.log" 2>&1 &
hog_pid=$!
wait_until 60 grep -q 'pass 0: .*written' "$tmp/hog.log" ||
    die "the hog did not write"
show_mm during swap
status=0
wait_for "$hog_pid" 120 || status=$?
cat "$tmp/hog.log"
expect "exit status of the hog" "$status" -eq 0
after=$(awk '$1 == "pswpout" { print $2 }' /proc/vmstat)
echo "pswpout $((after - before))"
expect_given_back swap
show_mm "hog ended" swap
swapoff "$loop"
: >"$tmp/state/swap"
show_mm "after swapoff" swap
clean
test ! -s "$tmp/server-cleaner.log" || die "not all could be taken down"
expect_fails grep -q " $tmp/mnt " /proc/mounts
show_requests swap
expect "MiB swapped out" $(((after - before) / 256)) -ge 100
expect_no_failures swap
