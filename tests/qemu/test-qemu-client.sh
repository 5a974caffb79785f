#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# QEMU is the client: a guest swaps to a virtio disk, which knows nothing of
# NBD.  A hypervisor's operator would do so.

. "${srcdir:-.}/qemu.sh"
requires_qemu

serve swap 1G
disk swap
guest_new vm virtio_pci virtio_blk
guest_boot vm $guest_mib "${disk_args[@]}" <<END
swap_on /dev/vda -d
reached ready
hog $hog_mib 2 1
reached done
swap_off /dev/vda
END

guest_wait vm '^@ready' 60
show_mm before swap
guest_go vm
guest_wait vm '^hog: pass 0: .*written' 120
show_mm during swap
guest_wait vm '^@done' 120
show_mm "hog ended" swap
guest_go vm
guest_end vm 60
show_mm "after swapoff" swap
echo "the guest ran for $((($(now_ms) - guest_start) / 1000)) s"
stop_servers
show_requests swap
expect_verified vm
expect_swapped vm
expect_no_failures swap
