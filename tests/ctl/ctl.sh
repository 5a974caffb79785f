# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of zspagectl share; each starts with `. "${0%/*}/ctl.sh"'.

. ../functions.sh
requires jq

# The program asks this one: see start_zspage_stats.
unset ZSPAGE_STATS
ctl=$abs_top_builddir/ctl/zspagectl
test -x "$ctl" || skip "zspagectl is not built"

# A leak that the program leaves to the end of the process is none.
export ASAN_OPTIONS=detect_leaks=0

# Usage: zspagectl ARG...
# Runs it under valgrind if the server does, with a limit on its time.
zspagectl ()
{
    local wrapper=()

    if test -n "$ZSPAGE_VALGRIND"; then
        read -r -a wrapper <<<"$ZSPAGE_VALGRIND"
        wrapper+=("--log-file=$tmp/report.%p")
    fi
    timeout -k 5 "$(pick 30 60 120)" "${wrapper[@]}" "$ctl" "$@"
}

# As start_zspage, with statistics on a unix socket, which is then the one that
# is asked.
start_zspage_stats ()
{
    stats=$tmp/stats
    start_zspage stats="unix:$stats" compact_interval=0 "$@"
    export ZSPAGE_STATS=unix:$stats
}

# Store made-up pages in a device.  Usage: store_pages NR [KIND [DEVICE]]
store_pages ()
{
    "$zspage_pages" generate --kind="${2:-mixed}" --seed=1 --pages="$1" \
        "$tmp/pages" >/dev/null
    "$zspage_pages" store "$(export_uri "${3:-}")" "$tmp/pages" >/dev/null \
        2>"$tmp/store.err" || die "store: $(cat "$tmp/store.err")"
}

# Usage: expect_status STATUS ARG...
# Runs zspagectl; what it prints is in $tmp/out and $tmp/err.
expect_status ()
{
    local status=0 expected=$1

    shift
    zspagectl "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    test "$status" -eq "$expected" ||
        die "zspagectl $*: status $status, not $expected:" \
            "$(cat "$tmp/out" "$tmp/err")"
}

# As that, of what must fail: it says why, under its name, and prints nothing
# else.  Usage: expect_failure STATUS REGEX ARG...
expect_failure ()
{
    local regex=$2

    expect_status "$1" "${@:3}"
    expect_match "zspagectl ${*:3}" "$(cat "$tmp/err")" "^zspagectl: .*$regex"
    test ! -s "$tmp/out" || die "zspagectl ${*:3} printed: $(cat "$tmp/out")"
}
