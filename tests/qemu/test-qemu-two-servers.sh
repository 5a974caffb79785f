#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A guest swaps to two servers of the same priority, which share the load.

. "${srcdir:-.}/qemu.sh"
requires_qemu
requires swapon

serve a 512M
serve b 512M
disk a
args=("${disk_args[@]}")
disk b
args+=("${disk_args[@]}")
guest_new vm virtio_pci virtio_blk
# That of busybox knows no priorities.
guest_add vm "$(command -v swapon)" /sbin
guest_boot vm $guest_mib "${args[@]}" <<END
swapon=/sbin/swapon
swap_on /dev/vda -d -p 5
swap_on /dev/vdb -d -p 5
hog $hog_mib 1 1
reached done
swap_off /dev/vda /dev/vdb
END

guest_wait vm '^@done' 180
show_mm "hog ended, a" a
show_mm "hog ended, b" b
read -r orig_a _ <<<"$(mm_line a)"
read -r orig_b _ <<<"$(mm_line b)"
guest_go vm
guest_end vm 60
echo "the guest ran for $((($(now_ms) - guest_start) / 1000)) s"
stop_servers
for server in a b; do
    show_requests $server
    expect_no_failures $server
done
expect_verified vm
expect_swapped vm
expect "MiB on a, of more than half of b's" $((orig_a * 2)) -gt "$orig_b"
expect "MiB on b, of more than half of a's" $((orig_b * 2)) -gt "$orig_a"
