#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A guest swaps to a RAID1 of two servers.  One is killed under load: the guest
# goes on.  It is started again, empty: the array resynchronises.  Then the
# other is killed, so that what the first was given back is all there is.

. "${srcdir:-.}/qemu.sh"
requires_qemu
requires mdadm

serve a 288M
serve b 288M
disk a
args=("${disk_args[@]}")
disk b
args+=("${disk_args[@]}")
guest_new vm virtio_pci virtio_blk raid1
guest_add vm "$(command -v mdadm)" /bin
guest_boot vm $guest_mib "${args[@]}" <<END
mkfifo /run/go
mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 \
    --assume-clean --bitmap=none /dev/vda /dev/vdb
swap_on /dev/md0 -d
reached ready
hog $hog_mib 2 1 wait </run/go &
hog=\$!
exec 9>/run/go
reached degraded
mdadm /dev/md0 --remove /dev/vda
# QEMU is connected again by what it is asked first, which itself fails.
wait_for 20 dd if=/dev/vda of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null
mdadm /dev/md0 --add /dev/vda
idle () { [ "\$(cat /sys/block/md0/md/sync_action)" = idle ]; }
wait_for 120 idle
grep -A 2 '^md0' /proc/mdstat
echo "degraded \$(cat /sys/block/md0/md/degraded)"
reached resynchronised
echo go >&9
wait \$hog
swap_off /dev/md0
END

guest_wait vm '^@ready' 60
guest_go vm
guest_wait vm '^@degraded' 60
guest_wait vm '^hog: pass 0: .*written' 120
show_mm "during, a" a
show_mm "during, b" b
sleep 2
kill_server a
guest_wait vm '^hog: pass 0: .*verified' 120
serve a 288M
guest_go vm
guest_wait vm '^@resynchronised' 180
show_mm "resynced, a" a
show_mm "resynced, b" b
kill_server b
guest_go vm
guest_wait vm '^@end [0-9]+' 180
guest_end vm 10 write-errors
show_mm "swapped off, a" a
echo "the guest ran for $((($(now_ms) - guest_start) / 1000)) s"
stop_servers
show_requests a
show_requests b
guest_said vm '^degraded 0' || die "the array did not resynchronise"
if guest_said vm '(Write|Read)-error on swap-device'; then
    die "the guest noticed"
fi
expect_verified vm
expect_swapped vm
