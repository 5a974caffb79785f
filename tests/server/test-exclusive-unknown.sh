#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two clients whose processes the server cannot tell, as they are outside of its
# PID namespace, are not taken for the same one.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires unshare
test "$(id -u)" -eq 0 || skip "not root"
unshare --pid --fork true 2>/dev/null || skip "there are no PID namespaces"

sock=$tmp/sock uri="nbd+unix:///?socket=$tmp/sock"
server_log=$tmp/server0.log
unshare --pid --fork --kill-child "${nbdkit[@]}" -f -U "$sock" -P "$tmp/pid" \
    "$plugin" 64M exclusive=true </dev/null >"$server_log" 2>&1 &
at_end_kill $!
wait_until 60 test -s "$tmp/pid" || die "nbdkit did not start"

mkfifo "$tmp/hold"
./nbd-hold "$uri" 1 <"$tmp/hold" >"$tmp/said" &
at_end_kill $!
exec 7>"$tmp/hold"
wait_until 20 test -s "$tmp/said" || die "the first client is not let in"
expect_fails ../nbd-do "$uri" "write 0 4K text:1"
cat "$server_log"
