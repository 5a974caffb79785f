# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Servers of the plugin that run side by side, for benchmarks that compare one
# with the other.  For who sources it: $me is its name, $server that of the server
# that functions are about, $plugin, $nbd_load, $pages, $span, $seconds, and $tmp, a
# folder.

: "${me:?}" "${srcdir:?}"
tmp=
server=
plugin=${ZSPAGE_PLUGIN:-}
pages=
server_pids=()
helper_pids=()

die ()
{
    echo "$me: $*" >&2
    exit 1
}

bad_usage ()
{
    echo "$me: $*" >&2
    echo "Try $me --help." >&2
    exit 2
}

end ()
{
    local pid

    trap '' HUP INT TERM
    for pid in "${helper_pids[@]}" "${server_pids[@]}"; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    test -z "$tmp" || rm -rf "$tmp"
}

find_program ()
{
    local candidate

    for candidate; do
        if test -n "$candidate" && test -x "$candidate"; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# Usage: start_server OPTION...
start_server ()
{
    local i pid

    rm -f "$tmp/$server.pid" "$tmp/$server.socket" # of one that ended
    nbdkit -f -t 4 -U "$tmp/$server.socket" -P "$tmp/$server.pid" "$plugin" 8G \
        "stats=unix:$tmp/$server.stats" "$@" \
        </dev/null >"$tmp/$server.log" 2>&1 &
    pid=$!
    server_pids+=("$pid")
    for ((i = 0; i < 500; i++)); do
        test ! -s "$tmp/$server.pid" || return 0
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.02
    done
    die "nbdkit did not start: $(tail -n 1 "$tmp/$server.log")"
}

stop_servers ()
{
    kill "${server_pids[@]}"
    wait "${server_pids[@]}"
    server_pids=()
}

get ()
{
    curl -sSf --max-time 60 --unix-socket "$tmp/$server.stats" \
        "http://localhost/devices/default/$1" ||
        die "the server does not answer"
}

load ()
{
    "$nbd_load" --uri "nbd+unix:///?socket=$tmp/$server.socket" --pages "$pages" \
        --timeout 60 "$@" 2>"$tmp/load.log" ||
        die "nbd-load $*: $(tail -n 1 "$tmp/load.log")"
}

server_pid ()
{
    cat "$tmp/$server.pid"
}

# Microseconds of processor time so far: of the whole server, and of its threads
# in the background.
cpu_all ()
{
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, "")
        print ($12 + $13) * 1000000 / hz }' "/proc/$(server_pid)/stat"
}

# Of the latter also which they are, as one that trains does not stay.
background ()
{
    local task us=0 n tasks=

    for task in "/proc/$(server_pid)/task/"*; do
        case $(cat "$task/comm" 2>/dev/null) in
            zspage-*) n=$(awk '{ printf "%d", $1 / 1000 }' "$task/schedstat" \
                2>/dev/null) || continue
                us=$((us + n))
                tasks+=,${task##*/} ;;
        esac
    done
    echo "$us $tasks"
}

# Print: microseconds an operation in front, and all that was in the background.
# Usage: cost write|read SEED
cost ()
{
    local all back now n

    all=$(cpu_all)
    back=$(background)
    n=$(load --op "$1" --size 4K --depth 16 --span "$span" --seconds "$seconds" \
        --seed "$2" --header | awk -F '\t' '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == "requests") at = i }
            NR == 2 { print $at }') || die "no figures"
    now=$(background)
    all=$(($(cpu_all) - all))
    # What a thread took that is gone by now, nobody can say: once more.
    if test "${now#* }" != "${back#* }"; then
        cost "$@"
        return
    fi
    back=$((${now% *} - ${back% *}))
    awk -v all="$all" -v back="$back" -v n="$n" \
        'BEGIN { printf "%.3f %d\n", (all - back) / n, back }'
}

# Of numbers, one a line.
median ()
{
    sort -g | awk '{ a[NR] = $1 }
        END { print (a[int ((NR + 1) / 2)] + a[int (NR / 2) + 1]) / 2 }'
}

# Once $plugin and the like are set.
prepare ()
{
    local program

    test -n "$plugin" || bad_usage "no --plugin, and ZSPAGE_PLUGIN is not set"
    for program in nbdkit curl; do
        command -v $program >/dev/null || die "$program is not installed"
    done
    nbd_load=$(find_program "${NBD_LOAD:-}" ./nbd-load "$srcdir/nbd-load") ||
        die "nbd-load is not built"
    umask 077
    trap end EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    tmp=$(mktemp -d) || die "cannot make a temporary directory"
}
