#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A kernel that does refuse memory (vm.overcommit_memory=2): writes fail with
# ENOSPC, what is stored can be read, and once pages are freed writes go on.
# The server is in a guest, whose kernel may be told so.

. "${srcdir:-.}/qemu.sh"
requires_qemu

guest_new vm
guest_add vm "$(command -v nbdkit)" /bin
guest_add vm "$plugin" /bin
guest_add vm ../nbd-do /bin
guest_boot vm 256 <<'END'
ip link set lo up
nbdkit -f -t 4 -U /run/sock /bin/nbdkit-zspage-plugin.so 1G \
    stats=tcp:127.0.0.1:8080 >/run/server.log 2>&1 &
server=$!
wait_for 10 test -S /run/sock
uri="nbd+unix:///?socket=/run/sock"
mm ()
{
    echo "mm_stat $1: $(wget -q -O - http://127.0.0.1:8080/devices/default/mm_stat)"
}

nbd-do "$uri" "write 0 4K random:1"
# The stacks of a connection's threads take some of it.
now=$(awk '$1 == "Committed_AS:" { print $2 }' /proc/meminfo)
echo $((now + 100 * 1024)) >/proc/sys/vm/overcommit_kbytes
echo 2 >/proc/sys/vm/overcommit_memory
# In one process, as there is no memory for another then.
stored=$(nbd-do "$uri" "until ENOSPC each 64K write 0 1G random:1" \
    "each 64K read 0 16M random:1" "trim 0 8M" \
    "each 64K write 0 4M random:2" "each 64K read 0 4M random:2" \
    "each 64K read 8M 8M random:1")
echo 0 >/proc/sys/vm/overcommit_memory
mm "after a trim and writes"
grep Commit /proc/meminfo
echo "stored $((stored / 1048576)) MiB"
test "$stored" -gt $((16 * 1048576))
nbd-do "$uri" "each 64K read 8M $((stored - 8 * 1048576)) random:1"
cat /run/server.log
grep -q "is full: .*the system, .*, refuses memory" /run/server.log
kill $server
wait $server
END

guest_end vm 60
