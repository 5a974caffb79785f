#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first client starts a tenant's server, nbdkit-zspage@NAME.service, whose
# statistics are at a socket of its own.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-socket-activate nbdinfo curl
requires_plain "systemd-socket-activate does not pass on the environment"

# shellcheck disable=SC2034  # used by units.sh
ZSPAGE_OPTIONS="1G mem_limit=64M"
start_activated nbdkit-zspage@.service alice
expect "size" "$(nbdinfo --size "$uri")" = 1073741824
limit=$(curl -sS --fail --unix-socket "$run/nbdkit-zspage-alice/stats.sock" \
    http://localhost/devices/default/mem_limit)
expect "mem_limit" "$limit" = 67108864
