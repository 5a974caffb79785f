#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The guest's kernel is the client, over TCP: it attaches /dev/nbd0 with its own
# nbd-client and swaps to that, as a machine does whose swap is on the network.
# With swapon -d, what it no longer needs comes back to the server.

. "${srcdir:-.}/qemu.sh"
requires_qemu
requires nbd-client

serve swap --tcp 1G
guest_new vm virtio_pci virtio_net nbd
guest_add vm "$(command -v nbd-client)" /bin
guest_boot vm $guest_mib \
    -netdev user,id=net,ipv6=off -device virtio-net-pci,netdev=net,romfile= <<END
network 10.0.2.15/24
nbd_attach /dev/nbd0 default 10.0.2.2 $(server_port swap)
swap_on /dev/nbd0 -d
reached ready
hog $hog_mib 2 1
reached done
swap_off /dev/nbd0
nbd-client -d /dev/nbd0
END

watch_hog vm swap
expect_given_back swap
watch_swapoff vm swap
