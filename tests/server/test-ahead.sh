#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ahead=SIZE keeps memory ready from the first write on, and makes up for what
# writes take; with swap=true it is 4M unless something else is said.  None of
# that is done for a device that was never written, however large.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "sanitizers map and touch memory of their own"

ready ()
{
    figure memory mem_reserve "$@"
}

has_ready ()
{
    test "$(ready)" -ge "$1"
}

# Nothing before the first write; all of it, and the table of slots, after it.
start_with_stats 1G ahead=8M
expect "bytes ready before the first write" "$(ready)" -eq 0
meta=$(figure memory mem_meta)
../nbd-do "$uri" "write 0 4K random:1"
expect "bytes ready" "$(ready)" -ge $((7 * MIB))
expect "bytes ready" "$(ready)" -le $((10 * MIB))
expect "bytes of the table" $(($(figure memory mem_meta) - meta)) -ge $((2 * MIB))
../nbd-do "$uri" "trim 0 1G"
expect "bytes of the table after a trim" \
    $(($(figure memory mem_meta) - meta)) -ge $((2 * MIB))

# What is taken is there again soon, though nothing is given back meanwhile.
../nbd-do "$uri" "write 0 64M random:2" "read 0 64M random:2"
wait_until 20 has_ready $((4 * MIB)) ||
    die "only $(ready) bytes are ready 20 s later"

# By default there is hardly any; with swap=true some.
for how in "0 1" "4 10 swap=true" "2 3 swap=true ahead=0"; do
    read -r least most options <<<"$how"
    # shellcheck disable=SC2086
    start_with_stats 1G $options
    ../nbd-do "$uri" "write 0 4K random:1"
    expect "bytes ready with '$options'" "$(ready)" -ge $((least * MIB))
    expect "bytes ready with '$options'" "$(ready)" -le $((most * MIB))
done

# A device on demand is mapped while what is newly mapped is locked at once.
start_with_stats 1T swap=true on_demand=true
../nbd-do "$(export_uri big)" "read 0 4K 0"
expect "kB resident with 1 TiB on demand" \
    "$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$server_pid/status")" -lt 40960
../nbd-do "$(export_uri big)" "write 0 4K random:1" "read 0 4K random:1"
expect "bytes ready in it" "$(ready big)" -ge $((4 * MIB))
stop_server || die "the server did not end well"
