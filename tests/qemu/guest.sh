#!/bin/sh
# shellcheck shell=dash
# SPDX-License-Identifier: BSD-3-Clause
# The first and only process that a guest of the tests starts with.  It runs
# /test, which finds the functions below, with the second serial line for its
# input and output, and powers off.  Lines that begin with `@' are for the host.

PATH=/bin
export PATH

# Tell the host how far this is, and wait until it says to go on.
# Usage: reached NAME
reached ()
{
    echo "@$1"
    read -r _
}

# What the kernel swapped, in pages, and how much memory is free.
swap_counters ()
{
    awk -v at="$1" '$1 == "pswpin" { i = $2 } $1 == "pswpout" { o = $2 }
        END { print "counters " at ": pswpin " i " pswpout " o }' /proc/vmstat
}

# Usage: swap_on DEVICE [ARG-OF-SWAPON...]
# The shell prefers busybox's own, unless swapon is set to another.
swap_on ()
{
    local dev="$1"
    shift
    mkswap "$dev" >/dev/null
    echo "$dev: rotational $(cat "/sys/block/${dev##*/}/queue/rotational")," \
        "most bytes to discard" \
        "$(cat "/sys/block/${dev##*/}/queue/discard_max_bytes")"
    "${swapon:-swapon}" "$@" "$dev"
}

# Usage: swap_off DEVICE...
swap_off ()
{
    local dev
    for dev; do
        awk -v dev="$dev" '$1 == dev { print dev ": KiB in use " $4 }' \
            /proc/swaps
        swapoff "$dev"
    done
    swap_counters "after swapoff"
}

# Until a file exists that a driver makes, or is as it should be.
# Usage: wait_for SECONDS COMMAND [ARG...]
wait_for ()
{
    local i=$(($1 * 10))
    shift
    while ! "$@"; do
        i=$((i - 1))
        if [ "$i" -le 0 ]; then
            echo "waited too long for: $*"
            return 1
        fi
        sleep 0.1
    done
}

# Usage: network ADDRESS/BITS
network ()
{
    ip link set lo up
    wait_for 10 test -e /sys/class/net/eth0
    ip addr add "$1" dev eth0
    ip link set eth0 up
}

# Attach a device by the guest's own client.
# Usage: nbd_attach DEVICE EXPORT HOST PORT|-unix SOCKET
nbd_attach ()
{
    local dev="$1" export="$2"
    shift 2
    # Or the kernel sends from its reserves of memory, and TCP is left with
    # none.
    echo 16384 >/proc/sys/vm/min_free_kbytes
    nbd-client -N "$export" "$@" "$dev" -swap -timeout 30 -block-size 4096 -C 1
    wait_for 10 awk '$1 == 0 { exit 1 }' "/sys/block/${dev##*/}/size"
}

if [ "$$" -ne 1 ]; then
    return 0
fi

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo "@up $(uname -r)"
for module in $(cat /modules); do
    insmod "/modules.d/$module" || echo "cannot load $module"
done
if [ -e /proc/sys/kernel/hung_task_timeout_secs ]; then
    echo 30 >/proc/sys/kernel/hung_task_timeout_secs
fi
sh -eu -c '. /init; . /test'
status=$?
echo "@dmesg"
dmesg
echo "@end $status"
poweroff -f
