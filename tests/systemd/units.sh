# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What tests of the units share; each starts with `. "${0%/*}/units.sh"'.
#
# Units are looked at in a root directory of the test's own, with programs that
# do nothing: nothing is installed, and systemd need not be running.
# shellcheck disable=SC2034

# shellcheck source=../functions.sh.in
. ../functions.sh

units_in=("$abs_top_srcdir"/contrib/systemd/*.socket
          "$abs_top_srcdir"/contrib/systemd/*.service
          "$abs_top_builddir"/contrib/systemd/*.service)
examples=$abs_top_srcdir/contrib/systemd/examples

# Usage: make_root
# Sets root, and units, the directory of our units in it.
make_root ()
{
    local system program

    for system in /usr/lib/systemd/system /lib/systemd/system ''; do
        test -z "$system" || ! test -e "$system/sysinit.target" || break
    done
    test -n "$system" || skip "systemd's own units are not installed"
    root=$tmp/root
    units=$root/etc/systemd/system
    mkdir -p "$units" "$root/usr/lib/systemd" "$root/usr/bin"
    cp -r "$system" "$root/usr/lib/systemd/system"
    ln -s usr/lib usr/bin "$root"
    for program in sh nbd-client mkswap swapon; do
        printf '#!/bin/sh\n' >"$root/usr/bin/$program"
        chmod 755 "$root/usr/bin/$program"
    done
    cp -- "${units_in[@]}" "$units"
    program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' \
        "$units/nbdkit-zspage.service")
    mkdir -p "$root$(dirname "$program")"
    cp "$root/usr/bin/sh" "$root$program"
}

# Print what is wrong with units.  Usage: verify UNIT...
verify ()
{
    systemd-analyze --root="$root" verify --man=no "$@" 2>&1 || :
}

# As if enabled.  Usage: enable TARGET UNIT [INSTANCE]
enable ()
{
    mkdir -p "$units/$1.wants"
    ln -s "../$2" "$units/$1.wants/${3:-$2}"
}

# Usage: start_activated UNIT [INSTANCE]
# Have the service's command line started by the first client, with options
# from ZSPAGE_OPTIONS if that is set, else those of the unit.  Sets server_pid,
# sock, uri, and run, which is for what is under /run.
start_activated ()
{
    local unit=$abs_top_builddir/contrib/systemd/$1 instance=${2:-}
    local NBDKIT_OPTIONS word words=() command=() i

    NBDKIT_OPTIONS=$(sed -n 's/^Environment=NBDKIT_OPTIONS=//p' "$unit")
    : "${ZSPAGE_OPTIONS=$(sed -n \
        's/^Environment="ZSPAGE_OPTIONS=\(.*\)"$/\1/p' "$unit")}"
    sock=$tmp/nbd.sock
    uri="nbd+unix:///?socket=$sock"
    run=$tmp/run
    mkdir -p "$run/$(sed -n 's/^RuntimeDirectory=//p' "$unit" |
        sed "s/%i/$instance/")"

    read -r -a words < <(sed -n 's/^ExecStart=//p' "$unit")
    for word in "${words[@]}"; do
        word=${word//%t/$run}
        word=${word//%i/$instance}
        # As systemd does, split variables that are words of their own.
        # shellcheck disable=SC2016
        case $word in
            '$NBDKIT_OPTIONS') read -r -a words <<<"$NBDKIT_OPTIONS" ;;
            '$ZSPAGE_OPTIONS') read -r -a words <<<"$ZSPAGE_OPTIONS" ;;
            */nbdkit-zspage-plugin.so) words=("$plugin") ;;
            *) words=("$word") ;;
        esac
        command+=("${words[@]}")
    done
    case ${command[*]} in
        *%*|*\$*|*@*) die "left in the command line: ${command[*]}" ;;
    esac

    systemd-socket-activate -l "$sock" "${command[@]}" \
        >"$tmp/server1.log" 2>&1 &
    server_pid=$!
    for ((i = 0; i < 500; i++)); do
        test ! -S "$sock" || return 0
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.02
    done
    die "systemd-socket-activate does not listen"
}

# The name of the program that a process runs.
program_of ()
{
    basename "$(readlink "/proc/$1/exe")"
}
