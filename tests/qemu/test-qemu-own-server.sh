#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A machine swaps on its own server: memory for what is swapped out is wanted
# just when there is none.  With swap=require the server has its own memory
# locked and is part of the I/O path to the kernel, or it would not start; with
# ahead= no request waits for the kernel to find memory.

. "${srcdir:-.}/qemu.sh"
requires_qemu
requires nbd-client nbdkit

guest_new vm nbd
guest_add vm "$(command -v nbd-client)" /bin
guest_add vm "$(command -v nbdkit)" /bin
guest_add vm "$plugin" /bin
guest_boot vm 256 <<'END'
ip link set lo up
echo -1000 >/proc/self/oom_score_adj
nbdkit -f -U /run/sock /bin/nbdkit-zspage-plugin.so 1G swap=require ahead=16M \
    stats=tcp:127.0.0.1:8080 >/run/server.log 2>&1 &
server=$!
echo 0 >/proc/self/oom_score_adj
wait_for 10 test -S /run/sock

mm ()
{
    echo "mm_stat $1: $(wget -q -O - http://127.0.0.1:8080/devices/default/mm_stat)"
}

nbd_attach /dev/nbd0 default -unix /run/sock
swap_on /dev/nbd0 -d
mm before
( sleep 5; mm during ) &
hog 224 2 1
mm "hog ended"
echo "io_stat: $(wget -q -O - http://127.0.0.1:8080/devices/default/io_stat)"
grep -E '^Vm(Lck|HWM|RSS)' /proc/$server/status
swap_off /dev/nbd0
mm "after swapoff"
awk '{ print "requests: read " $1 ", " $3 / 2048 " MiB; write " $5 ", " \
    $7 / 2048 " MiB; discard " $12 ", " $14 / 2048 " MiB" }' /sys/block/nbd0/stat
nbd-client -d /dev/nbd0
cat /run/server.log
test ! -s /run/server.log
kill $server
wait $server
END

guest_end vm 150
echo "the guest ran for $((($(now_ms) - guest_start) / 1000)) s"
expect_verified vm
expect_swapped vm
