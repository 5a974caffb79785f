#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# allow_uid and allow_gid let in only those they list, by number or by name.

# Where other users get to; TMPDIR may be in somebody's private directory.
TMPDIR=/tmp
# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

me=$(id -u) mine=$(id -g)
# Other users can run this one.
cp ../nbd-do "$tmp/"

# Usage: can_open DEVICE COMMAND..., which runs the client
can_open ()
{
    local name=$1
    shift

    "$@" "$tmp/nbd-do" "$(export_uri "$name")" "read 0 4K 0" 2>"$tmp/said"
}

# The log must say so: a client that cannot run, or cannot reach the socket, is
# no refusal.
cannot_open ()
{
    local before after

    before=$(grep -c "device $1: .*allow_uid or allow_gid" "$server_log" || :)
    if can_open "$@"; then
        die "${*:2} could open $1"
    fi
    after=$(grep -c "device $1: .*allow_uid or allow_gid" "$server_log" || :)
    expect "lines of the log about $1" "$after" -eq $((before + 1))
}

# What a device says replaces the default, both kinds of it.
start_zspage 64M "allow_uid=$me" "allow_gid=$mine" \
    device=inherits \
    device=uid allow_uid=$((me + 7)) \
    device=gid allow_gid=$((mine + 7)) \
    device=both allow_gid=$((mine + 7)) "allow_uid=$me"
can_open inherits env || die "cannot open inherits: $(cat "$tmp/said")"
cannot_open uid env
cannot_open gid env
can_open both env || die "cannot open both: $(cat "$tmp/said")"

start_zspage 64M device=all \
    device=mine "allow_uid=$me" \
    device=group "allow_gid=$mine" \
    device=other allow_uid=$((me + 7)) allow_gid=$((mine + 7)) \
    device=either allow_uid=$((me + 7)) "allow_gid=$mine" \
    device=named "allow_uid=$(id -un)" \
    device=two allow_uid=$((me + 7)) "allow_uid=$me"
for name in all mine group either named two; do
    can_open $name env || die "cannot open $name: $(cat "$tmp/said")"
done
cannot_open other env
grep -q "device other: the client, of uid $me and gid $mine, is not among" \
    "$server_log" || die "the log does not say who: $(cat "$server_log")"

for option in allow_uid=no-such-user-here allow_gid=no-such-group-here \
    allow_uid=-1 allow_uid=4294967295; do
    expect_fails run_nbdkit -f -U - "$plugin" 64M "$option" --run true \
        >"$tmp/said" 2>&1
    grep -q "$option: no such.* name or a number from 0 to 4294967294" \
        "$tmp/said" || die "says $(cat "$tmp/said")"
done

if test "$me" -ne 0 || ! command -v setpriv >/dev/null; then
    echo "other users are not tried: that needs root and setpriv"
    exit 0
fi
# Other users can reach the socket.
chmod 711 "$tmp"
chmod 777 "$sock"
user=(setpriv "--reuid=7" "--regid=12345" --clear-groups)
can_open all "${user[@]}" || skip "another user cannot run a client:" \
    "$(cat "$tmp/said")"
can_open other "${user[@]}" || die "user 7 cannot open other"
can_open either "${user[@]}" || die "user 7 cannot open either"
for name in mine group named; do
    cannot_open $name "${user[@]}"
done
for name in other either two; do
    cannot_open $name setpriv --reuid=8 --regid=12345 --clear-groups
done
can_open other setpriv --reuid=8 --regid=7 --clear-groups ||
    die "group 7 cannot open other"
