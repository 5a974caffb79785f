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

# As tables print it.
for limit in 1.5G=1610612736 0.25k=256 .5G= 1.G= 1.5= 1.5.5G= 1.5GB= 1.5X= \
    0x1.8G= 2.0=2 3.9999999999999999999M=4194304 99999999.5T=; do
    bytes=${limit#*=}
    if test -n "$bytes"; then
        expect_status 0 set default mem_limit "${limit%=*}"
        # Rounded up to pages, as any.
        expect "mem_limit of ${limit%=*}" \
            "$(zspagectl get default mem_limit)" -eq \
            $(((bytes + 4095) / 4096 * 4096))
    else
        expect_failure 1 "default: mem_limit=${limit%=}: mem_limit takes a" \
            set default mem_limit "${limit%=}"
    fi
done
expect_status 0 set default mem_limit 0

# Each message says of what it is.
takes='mem_limit takes a size such as'
expect_failure 1 "default: mem_limit=: $takes" set default mem_limit ''
for set in 'set default mem_limit -1' 'set default mem_limit -- -1' \
    'set -- default mem_limit -1' '-- set default mem_limit -1' \
    "-s$stats set default mem_limit -1"; do
    # shellcheck disable=SC2086
    expect_failure 1 "default: mem_limit=-1: $takes" $set
done
expect_failure 1 "default: mem_limit=1\?2: $takes" \
    set default mem_limit $'1\n2'
expect_failure 1 'default: mem_used_max=1: mem_used_max takes 0' \
    set default mem_used_max 1
expect_failure 1 'default: mem_limit=0{40}\.\.\.: .*at most 255 bytes' \
    set default mem_limit \
    "$(printf '%0300d' 1)"
expect_failure 1 'default: mm_stat: .*can only be read' set default mm_stat 1
expect_failure 1 'default: comp_algorithm: .*can only be read' \
    set default comp_algorithm zstd
expect_failure 1 'default: compact: .*can only be written' get default compact
expect_failure 1 'nosuch: no such attribute; those that can be set are: rec' \
    set default nosuch 1
expect_failure 1 'nosuch: no such device' set nosuch mem_limit 1
expect "mem_limit" "$(zspagectl get default mem_limit)" -eq 0

# idle marks pages.
zspagectl get default block_state >"$tmp/before"
expect_status 0 idle default
zspagectl get default block_state >"$tmp/after"
expect "idle pages before" "$(grep -c 'i\.\.$' "$tmp/before")" -eq 0
expect "idle pages" "$(grep -c 'i\.\.$' "$tmp/after")" -eq 1000
