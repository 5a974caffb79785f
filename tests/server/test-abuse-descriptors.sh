#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clients of the statistics do not use up the descriptors that clients of the
# block devices need.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires_plain "other things need descriptors there"

# A service has 1024 by default; there may be more statistics clients than that.
hard=$(ulimit -H -n)
ulimit -S -n 256
start_with_stats 64M
ulimit -S -n "$hard"

mkfifo "$tmp/hold"
./http-attack "$stats" 400 stall <"$tmp/hold" &
at_end_kill $!
exec 7>"$tmp/hold"

descriptors ()
{
    find "/proc/$server_pid/fd" -mindepth 1 | wc -l
}

has_many ()
{
    test "$(descriptors)" -ge 60
}
wait_until 20 has_many || die "the attack is too weak: $(descriptors)"

slowest=0
for ((i = 0; i < 30; i++)); do
    start=$(now_ms)
    ../nbd-do "$uri" "write 32M 4K text:1" "read 32M 4K text:1"
    took=$(($(now_ms) - start))
    slowest=$((took > slowest ? took : slowest))
    sleep 0.1
done
exec 7>&-
echo "a new client of the device waits for $slowest ms at most"
expect "ms for a new client of the device" $slowest -le 2000
if grep "Too many open files" "$server_log" | head -n 3; then
    die "the server ran out of descriptors"
fi
