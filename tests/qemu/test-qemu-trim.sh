#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Swap that a guest no longer needs comes back, with nothing to set up in the
# guest but swapon -d: QEMU offers the export as a disk that does not rotate,
# which NVMe disks never do.  (A virtio disk does in guests' eyes, and their
# kernels then trim once, at swapon; -device scsi-hd,rotation_rate=1 is the
# other way.)

. "${srcdir:-.}/qemu.sh"
requires_qemu

serve swap 1G
disk swap "" nvme,serial=swap
guest_new vm nvme
guest_boot vm $guest_mib "${disk_args[@]}" <<END
wait_for 10 test -b /dev/nvme0n1
swap_on /dev/nvme0n1 -d
reached ready
hog $hog_mib 1 1
reached done
swap_off /dev/nvme0n1
END

watch_hog vm swap
expect_given_back swap
watch_swapoff vm swap
