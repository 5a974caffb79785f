#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# get prints an attribute byte for byte as the server has it, over NBD too.

. "${0%/*}/ctl.sh"
requires curl nbdcopy

start_zspage_stats 64M mem_limit=32M
store_pages 1000

for attr in mm_stat io_stat bd_stat debug_stat classes block_state stats.json \
    disksize initstate comp_algorithm algorithm_params mem_limit; do
    expect_status 0 get default "$attr"
    curl -sf --unix-socket "$stats" "http://localhost/devices/default/$attr" \
        >"$tmp/curl"
    cmp "$tmp/out" "$tmp/curl"
done
for attr in mm_stat io_stat classes; do
    node "$attr" >"$tmp/nbd"
    zspagectl get default "$attr" | cmp - "$tmp/nbd"
done

# What is there, if it is not.
expect_failure 1 'nosuch: no such device; there are: default$' \
    get nosuch mm_stat
expect_failure 1 'nosuch: no such attribute; there are: mm_stat io_stat' \
    get default nosuch
expect_failure 1 'no such device; there are: default$' get '' mm_stat
expect_failure 1 'no such device; there are: default$' get .. mm_stat
expect_failure 1 'no such device; there are: default$' get default/ mm_stat
expect_failure 1 'no such attribute' get default '../../metrics'
expect_failure 1 'no such device' get $'a\033[2J?#%00 b' mm_stat
! grep -q $'\033' "$tmp/err" || die "control characters reach the terminal"
expect_failure 1 'can only be written' get default compact

# What cannot be written is an error.
if test -w /dev/full; then
    status=0
    zspagectl get default mm_stat >/dev/full 2>"$tmp/err" || status=$?
    expect "status" "$status" -eq 1
    expect_match "/dev/full" "$(cat "$tmp/err")" "^zspagectl: writing to stdout"
fi
