# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The servers that nbd-bench compares: how each is started and stopped, and
# what memory it holds.  Server NAME is on $tmp/NAME.socket, with its log in
# $tmp/NAME.log; they run side by side, but for the two on kernel zram, of which
# there is one device.
#
# shellcheck disable=SC2034,SC2154
# Sourced; uses warn, set_traps, $tmp, $plugin, ${plugin_options[@]} and
# ${nbdkit_options[@]} of nbd-bench.
#
# "zram" is kernel zram with the page cache kept out of the way as far as
# nbdkit can (cache=none): each request is compressed or decompressed, and by
# the server, whose CPU time is measured.  "zram-cached" is nbdkit's default,
# where most requests end in the page cache, which holds all the data a second
# time uncompressed, and the kernel compresses later on its own time.
default_servers='null zspage zram memory-zstd'
all_servers='null zspage zram memory memory-zstd zram-cached'

nbdkit=${NBDKIT:-nbdkit}
zram=/sys/block/zram0
device_size=4G
declare -A server_pids=() # by name, of those that run
zram_claimed=

zram_usable ()
{
    test "$(id -u)" = 0 && test -b /dev/zram0 && test -w /dev/zram0 &&
        test -w $zram/disksize &&
        test "$(cat $zram/initstate)" = 0 &&
        grep -qw lz4 $zram/comp_algorithm
}

# Setting the size is what claims the device: it fails if another has.  No
# signal may come between that and noting that it is ours to reset.
claim_zram ()
{
    local r=1

    trap '' HUP INT TERM
    if zram_usable && echo lz4 >$zram/comp_algorithm &&
        echo $device_size >$zram/disksize; then
        zram_claimed=yes
        r=0
    fi 2>/dev/null
    set_traps
    return $r
}

release_zram ()
{
    local i

    test -n "$zram_claimed" || return 0
    for i in 1 2 3 4 5 6 7 8 9 10; do
        if echo 1 2>/dev/null >$zram/reset; then
            zram_claimed=
            return 0
        fi
        sleep 0.5
    done
    warn "cannot reset /dev/zram0 (tried $i times)"
    return 1
}

# Why server $1 cannot run here; nothing if it can.
why_not ()
{
    case $1 in
        zspage)
            if test -z "$plugin"; then
                echo "no --plugin and no \$ZSPAGE_PLUGIN"
            elif ! test -f "$plugin"; then
                echo "there is no file $plugin"
            fi ;;
        memory-zstd)
            "$nbdkit" memory 4096 allocator=zstd --run true >/dev/null 2>&1 ||
                echo "this nbdkit has no zstd allocator" ;;
        zram*)
            zram_usable ||
                echo "root and an unused /dev/zram0 with lz4 are needed" ;;
        *)
            "$nbdkit" "$1" --version >/dev/null 2>&1 || echo "not installed" ;;
    esac
}

# Start server $1.
start_server ()
{
    local args waited=0

    case $1 in
        zspage) args=("$plugin" "$device_size" "${plugin_options[@]}") ;;
        null | memory) args=("$1" "$device_size") ;;
        memory-zstd) args=(memory "$device_size" allocator=zstd) ;;
        zram) args=(file /dev/zram0 cache=none) ;;
        zram-cached) args=(file /dev/zram0) ;;
    esac
    case $1 in
        zram*) claim_zram || { warn "/dev/zram0 is in use"; return 1; } ;;
    esac
    rm -f "$tmp/$1.socket" "$tmp/$1.pid"
    "$nbdkit" -f -U "$tmp/$1.socket" -P "$tmp/$1.pid" "${nbdkit_options[@]}" \
        "${args[@]}" </dev/null >"$tmp/$1.log" 2>&1 &
    server_pids[$1]=$!
    until test -s "$tmp/$1.pid"; do
        if ! kill -0 "${server_pids[$1]}" 2>/dev/null || test $waited -ge 100
        then
            warn "$1 does not start: $(tail -n 1 "$tmp/$1.log")"
            return 1
        fi
        sleep 0.1
        waited=$((waited + 1))
    done
}

# Stop server $1, if it runs.
stop_server ()
{
    local pid=${server_pids[$1]:-} waited=0

    if test -n "$pid"; then
        kill -TERM "$pid" 2>/dev/null
        while kill -0 "$pid" 2>/dev/null; do
            if test $waited -ge 100; then
                warn "$1 does not stop; killing it"
                kill -KILL "$pid" 2>/dev/null
                break
            fi
            sleep 0.1
            waited=$((waited + 1))
        done
        wait "$pid" 2>/dev/null
        unset "server_pids[$1]"
    fi
    case $1 in
        zram*) release_zram ;;
    esac
}

# Stop all that run.
stop_servers ()
{
    local name r=0

    for name in "${!server_pids[@]}"; do
        stop_server "$name" || r=1
    done
    release_zram && return $r
}

# Memory that server $1 holds, in units of 1024 bytes: its own, the whole of
# its memfds (a page of one counts whether mapped or not), and what zram keeps
# in the kernel.  The page cache in front of zram is emptied into it first, so
# it is not counted.
memory_kb ()
{
    local fd pid=${server_pids[$1]}

    case $1 in
        zram*) blockdev --flushbufs /dev/zram0 ;;
    esac
    {
        awk '/^Pss_(Anon|File):/ { n += $2 } END { print n + 0 }' \
            "/proc/$pid/smaps_rollup"
        for fd in "/proc/$pid/fd/"*; do
            case $(readlink "$fd") in
                /memfd:*) stat -L -c '%d:%i %b' "$fd" ;;
            esac
        done | sort -u | awk '{ print $2 / 2 }'
        case $1 in
            zram*) awk '{ print $3 / 1024 }' $zram/mm_stat ;;
        esac
    } 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}
