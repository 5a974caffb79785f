#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PUT idle marks every stored page in block_state, until it is read or written.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0

# The pages whose flags match.  Usage: pages REGEX
pages ()
{
    attr block_state | awk -v re="$1" '$3 ~ re { printf "%s ", $1 }'
}

../nbd-do "$uri" "write 0 4K text:1" "write 8K 4K random:1" \
    "write 16K 4K 0x61" "write 32M 4K text:2"
expect "pages" "$(pages .)" = "0 2 4 8192 "
expect "idle pages" "$(pages i)" = ""
expect "same-filled pages" "$(pages '^.?s')" = "4 "
expect "huge pages" "$(pages h)" = "2 "

# The number of idle pages.  Usage: expect_idle NR
expect_idle ()
{
    expect "figure of idle pages" "$(figure memory idle_pages)" -eq "$1"
}

expect_idle 0
expect "seconds, if never marked" "$(figure memory idle_seconds)" -eq 0
put /devices/default/idle all
expect "idle pages" "$(pages i)" = "0 2 4 8192 "
expect_idle 4
put /devices/default/idle all
expect_idle 4
../nbd-do "$uri" "read 0 4K text:1"
expect "idle pages after a read" "$(pages i)" = "2 4 8192 "
expect_idle 3
../nbd-do "$uri" "write 8K 4K random:2" "read 16K 4K 0x61"
expect "idle pages after a write, and a read of a same-filled page" \
    "$(pages i)" = "8192 "
expect_idle 1
../nbd-do "$uri" "write 32M 512 0x62"
expect "idle pages after a write of a part" "$(pages i)" = ""
expect_idle 0
put /devices/default/idle all
expect_idle 4
../nbd-do "$uri" "trim 0 64M"
expect_idle 0
sleep_until_idle ()
{
    test "$(figure memory idle_seconds)" -ge 1
}
wait_until 20 sleep_until_idle || die "no time passes"
put /devices/default/idle all
expect "pages" "$(pages .)" = ""
