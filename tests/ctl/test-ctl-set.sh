#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# set changes what can be changed, and passes on why it is refused.

. "${0%/*}/ctl.sh"

start_zspage_stats 64M
store_pages 1000

expect_status 0 set default mem_limit 48M
test ! -s "$tmp/out" || die "set printed: $(cat "$tmp/out")"
expect "mem_limit" "$(zspagectl get default mem_limit)" -eq 50331648
expect_status 0 set default mem_limit 0
expect "mem_limit" "$(zspagectl get default mem_limit)" -eq 0

expect_failure 1 'mem_limit takes a size such as' set default mem_limit ''
expect_failure 1 'mem_limit takes a size such as' set default mem_limit -- -1
expect_failure 1 'mem_limit takes a size such as' set default mem_limit $'1\n2'
expect_failure 1 'mem_used_max takes 0' set default mem_used_max 1
expect_failure 1 'at most 255 bytes' set default mem_limit \
    "$(printf '%0300d' 1)"
expect_failure 1 'can only be read' set default mm_stat 1
expect_failure 1 'nosuch: no such attribute; those that can be set are: mem_l' \
    set default nosuch 1
expect_failure 1 'nosuch: no such device' set nosuch mem_limit 1
expect "mem_limit" "$(zspagectl get default mem_limit)" -eq 0

# idle marks pages.
zspagectl get default block_state >"$tmp/before"
expect_status 0 idle default
zspagectl get default block_state >"$tmp/after"
expect "idle pages before" "$(grep -c 'i\.\.$' "$tmp/before")" -eq 0
expect "idle pages" "$(grep -c 'i\.\.$' "$tmp/after")" -eq 1000
