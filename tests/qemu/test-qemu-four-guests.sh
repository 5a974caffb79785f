#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Four guests at once, each on a device of its own in one server.  One would
# need more than the mem_limit of its device: its kernel is told so, and keeps
# what it could not write.  The others never notice.

. "${srcdir:-.}/qemu.sh"
requires_qemu

# The disk of the full one is hardly larger than its hog, as what a guest no
# longer needs counts too where it does not trim: with a larger one nothing but
# that would be stored in the end, and its kernel would try for ever.
mib=112
limit=36
serve swap 512M \
    device=vm1 mem_limit=1G device=vm2 mem_limit=1G device=vm3 mem_limit=1G \
    device=full disksize=$((mib + 8))M mem_limit=${limit}M

guests=(vm1 vm2 vm3 full)
seed=0
for vm in "${guests[@]}"; do
    seed=$((seed + 1))
    disk swap "$vm"
    guest_new "$vm" virtio_pci virtio_blk
    guest_boot "$vm" 128 "${disk_args[@]}" <<END
swap_on /dev/vda -d
reached ready
hog $mib 2 $seed
reached done
swap_off /dev/vda
END
done

# Together, or the first is done when the last begins.
for vm in "${guests[@]}"; do
    guest_wait "$vm" '^@ready' 120
    show_mm "before $vm" swap "$vm"
done
for vm in "${guests[@]}"; do
    guest_go "$vm"
done
for vm in "${guests[@]}"; do
    guest_wait "$vm" '^hog: pass 0: .*written' 180
    show_mm "during $vm" swap "$vm"
done
for vm in "${guests[@]}"; do
    guest_wait "$vm" '^@done' 240
    show_mm "hog ended $vm" swap "$vm"
    guest_go "$vm"
done
for vm in vm1 vm2 vm3; do
    guest_end "$vm" 60
done
guest_end full 60 write-errors
for vm in "${guests[@]}"; do
    show_mm "swapped off $vm" swap "$vm"
done
echo "the guests ran for $((($(now_ms) - guest_start) / 1000)) s"
# shellcheck disable=SC2034  # figure reads it
stats=$tmp/swap.stats
for vm in "${guests[@]}"; do
    printf 'failed_writes %s: %s pages\n' "$vm" \
        "$(figure io_stat failed_writes "$vm")"
done
for vm in vm1 vm2 vm3; do
    expect "failed_writes of $vm" "$(figure io_stat failed_writes "$vm")" -eq 0
done
expect "failed_writes of the full one" \
    "$(figure io_stat failed_writes full)" -gt 0
expect "mem_used_max of the full one" "$(mm $used_max full)" -le $((limit * MIB))
expect "errors in the full one's kernel" \
    "$(grep -c Write-error "$tmp/full.guest")" -gt 0
stop_servers
for vm in "${guests[@]}"; do
    show_requests swap "$vm"
    expect_verified "$vm"
    expect_swapped "$vm"
done
