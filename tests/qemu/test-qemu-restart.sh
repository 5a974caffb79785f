#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A guest swaps through QEMU's own client to a server that is killed again and
# again, and at last restarted on purpose, in the way that `systemctl restart'
# does it with KillSignal=SIGKILL.  With state= and reconnect-delay= the guest
# goes on, with no error and every page as it was written.

. "${srcdir:-.}/qemu.sh"
requires_qemu
make_state_dir

kills=5
seed=${ZSPAGE_SEED:-$RANDOM}
echo "seed $seed: repeat with ZSPAGE_SEED=$seed"
RANDOM=$((seed % 32768))
options=(state="$state_dir" 1G checksum=true compact_interval=500ms)

nr_requests ()
{
    grep -Ec ' (Read|Write|Trim|Zero) id=' "$tmp/swap.requests" || :
}

has_swapped_more ()
{
    test "$(nr_requests)" -ge "$wanted"
}

# Until the guest has used the device for a while.
wait_for_swapping ()
{
    wanted=$(($(nr_requests) + 200 + RANDOM % 1500))
    wait_until $((60 * patience)) has_swapped_more ||
        die "the guest does not swap"
    ! guest_said vm '^@done' || die "the hog has ended already"
}

# The last words of the server that there is now.
expect_recovered ()
{
    tail -n 1 "$tmp/server-swap.log" |
        grep -E "pages recovered in [0-9]+ ms; the file was not closed \(by process $killed\)" ||
        die "the server says $(tail -n 1 "$tmp/server-swap.log")"
}

# Usage: restart SECONDS; from the end of the one to the start of the next
restart ()
{
    killed=${server_pids[swap]}
    kill_server swap
    sleep "$1"
    serve swap "${options[@]}"
    expect_recovered
}

serve swap "${options[@]}"
disk swap
guest_new vm virtio_pci virtio_blk
guest_boot vm $guest_mib "${disk_args[@]/reconnect-delay=1/reconnect-delay=60}" <<END
swap_on /dev/vda -d
reached ready
hog $hog_mib 3 1
reached done
swap_off /dev/vda
END

guest_wait vm '^@ready' 60
guest_go vm
for ((i = 0; i < kills; i++)); do
    wait_for_swapping
    restart "0.$((RANDOM % 10))"
    show_mm "after kill $((i + 1))" swap
done
wait_for_swapping
restart 0
show_mm "after a restart" swap
wait_for_swapping
guest_wait vm '^@done' 150
watch_swapoff vm swap
! grep -E 'lost|damaged' "$tmp/server-swap.log" || die "the server lost pages"
