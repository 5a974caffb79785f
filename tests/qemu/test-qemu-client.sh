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

watch_hog vm swap
watch_swapoff vm swap
