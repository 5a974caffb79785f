#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The other tests of this folder can fail: each of their checks sees what it is
# there for, in a guest whose disk fails writes, damages pages, or hangs.

. "${srcdir:-.}/qemu.sh"
requires_qemu
test -x ../nbd-do || skip "there is no nbd-do"

mib=112
guest ()
{
    guest_new "$1" virtio_pci virtio_blk
    guest_boot "$1" 128 "${disk_args[@]}" <<END
swap_on /dev/vda
hog $mib 1 1
swap_off /dev/vda
END
}

# Usage: sees NAME WHAT SECONDS
# The checks of an ordinary test are to say so of guest NAME.
sees ()
{
    local status=0

    (
        # Not the end of this test.
        trap - EXIT
        guest_wait "$1" '^@end [0-9]+' "$3"
        guest_judge "$1"
        expect_verified "$1"
    ) >"$tmp/$1.checks" 2>&1 || status=$?
    expect "$1: exit status of the checks" "$status" -ne 0
    grep -E -m 3 -- "$2" "$tmp/$1.checks" || {
        cat "$tmp/$1.checks"
        die "$1: the checks fail, but not with: $2"
    }
}

# Some writes fail.
serve eio 512M --filter=error error-pwrite=EIO error-pwrite-rate=5% \
    error-file="$tmp/fail"
disk eio
guest eio
guest_wait eio '^/dev/vda' 60
touch "$tmp/fail"
sees eio 'Write-error on swap-device' 90

# A byte of some pages is wrong.
serve flip 512M
disk flip
guest flip
damage=()
for ((i = 16; i < 48; i++)); do
    damage+=("write ${i}M 1 0x5a")
done
guest_wait flip '^hog: pass 0: .*written' 60
../nbd-do "nbd+unix:///?socket=$tmp/flip.sock" \
    "${damage[@]}"
sees flip 'is wrong in 1 of 512 words' 90

# The server stands still.
serve stopped 512M
disk stopped
guest stopped
guest_wait stopped '^/dev/vda' 60
kill -STOP "${server_pids[stopped]}"
patience=1 sees stopped 'blocked for more than|did not come to say' 40
kill -CONT "${server_pids[stopped]}"
