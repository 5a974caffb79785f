# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder share; each starts with
# `. "${srcdir:-.}/server.sh"', in the build folder.

# What is set here the tests use.
# shellcheck disable=SC2034

# shellcheck source=SCRIPTDIR/../functions.sh.in
. ../functions.sh

MIB=$((1024 * 1024))

# Start a server with a statistics socket, stats.  Usage: start_with_stats ARG...
start_with_stats ()
{
    requires curl
    stats=$tmp/stats$((nr_servers + 1))
    start_zspage "stats=unix:$stats" "$@"
}

# --- HTTP.

# Usage: http PATH [CURL-OPTION...]; prints the body, whatever the status.
http ()
{
    local path=$1
    shift

    curl -sS --max-time "$(pick 20 60 60)" --unix-socket "$stats" "$@" \
        "http://localhost$path"
}

# Usage: put PATH VALUE [CURL-OPTION...]; fails, and says why, if it is refused.
put ()
{
    local path=$1 value=$2 status
    shift 2

    status=$(http "$path" -X PUT --data-binary "$value" -o "$tmp/answer" \
        -w '%{http_code}' "$@")
    test "$status" -eq 200 || {
        printf '%s: PUT %s: %s: %s\n' "$test_name" "$path" "$status" \
            "$(cat "$tmp/answer")" >&2
        return 1
    }
}

# Usage: expect_http STATUS REGEX PATH [CURL-OPTION...]
# The body is one line that matches, and ends with a newline.
expect_http ()
{
    local status=$1 regex=$2 path=$3 got
    shift 3

    got=$(http "$path" -o "$tmp/answer" -w '%{http_code}' "$@")
    test "$got" = "$status" ||
        die "$path $*: status $got, not $status: $(cat "$tmp/answer")"
    expect "$path $*: lines of the answer" "$(wc -l <"$tmp/answer")" -eq 1
    expect_match "$path $*" "$(cat "$tmp/answer")" "$regex"
}

# An attribute over HTTP.  Usage: attr NAME [DEVICE]
attr ()
{
    http "/devices/${2:-default}/$1" -f
}

# One field of mm_stat, counted from 1.  Usage: mm FIELD [DEVICE]
mm ()
{
    attr mm_stat "${2:-default}" | awk -v n="$1" '{ print $n }'
}

# Fields of mm_stat.
orig=1 compr=2 used=3 limit=4 used_max=5 same=6 compacted=7 huge=8

# One figure of stats.json.  Usage: figure GROUP NAME [DEVICE]
figure ()
{
    requires jq
    attr stats.json "${3:-default}" | jq -e ".$1.$2"
}

# Usage: wait_until SECONDS COMMAND [ARG...]
wait_until ()
{
    local end=$(($(now_ms) + $1 * 1000))
    shift

    until "$@"; do
        test "$(now_ms)" -lt "$end" || return 1
        sleep 0.02
    done
}

# --- Data.

# Fill the first MIB of a device with generated pages, and trim two of three
# runs of 4 pages at random.  Usage: fill MIB [URI]; trim_some MIB SEED [URI]
fill ()
{
    "$zspage_pages" generate --kind=mixed --seed=1 --pages=$(($1 * 256)) \
        "$tmp/pages" >/dev/null
    nbdcopy "$tmp/pages" "${2:-$uri}"
    rm "$tmp/pages"
}

trim_some ()
{
    local commands

    mapfile -t commands < <(awk -v mib="$1" -v seed="$2" 'BEGIN {
        srand (seed)
        for (i = 0; i < mib * 64; i++)
            if (rand () < 0.66)
                printf "trim %dK 16K\n", i * 16
    }')
    ../nbd-do "${3:-$uri}" "${commands[@]}"
}

# The TCP ports that a process listens on.  Usage: listening_ports PID
listening_ports ()
{
    local inodes hex

    inodes=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' |
        tr -dc '0-9\n' | paste -sd ' ')
    awk -v inodes="$inodes" '
        BEGIN { n = split (inodes, a); for (i = 1; i <= n; i++) ours[a[i]] = 1 }
        $4 == "0A" && $10 in ours { sub (/.*:/, "", $2); print $2 }' \
        "/proc/$1/net/tcp" "/proc/$1/net/tcp6" | while read -r hex; do
        echo $((16#$hex))
    done
}

stats_port ()
{
    listening_ports "$server_pid"
}

# A server, one more than there is, ends at once, and says why.
# Usage: expect_refused REGEX ARG...
expect_refused ()
{
    local regex=$1 status=0
    shift

    run_nbdkit -f -U - "$plugin" "$@" --run true >"$tmp/said" 2>&1 || status=$?
    expect "nbdkit zspage $*: exit status" "$status" -eq 1
    grep -Eq -- "$regex" "$tmp/said" ||
        die "nbdkit zspage $*: says '$(cat "$tmp/said")', not '$regex'"
}
