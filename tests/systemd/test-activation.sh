#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first client starts the server of nbdkit-zspage.service.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-socket-activate nbdinfo curl
requires_plain "systemd-socket-activate does not pass on the environment"

start_activated nbdkit-zspage.service
expect "before there is a client" "$(program_of "$server_pid")" = \
    systemd-socket-activate

expect "size" "$(nbdinfo --size "$uri")" = 3221225472
expect "the same process" "$(program_of "$server_pid")" = nbdkit

# That was no server for one client only.
expect "size, once more" "$(nbdinfo --size "$uri")" = 3221225472
limit=$(curl -sS --fail --unix-socket "$run/nbdkit-zspage/stats.sock" \
    http://localhost/devices/default/mem_limit)
expect "mem_limit at the packaged socket" "$limit" = 1073741824
