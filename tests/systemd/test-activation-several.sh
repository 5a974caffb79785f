#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first client starts a server of several devices: the example of them.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-socket-activate nbdinfo jq
requires_plain "systemd-socket-activate does not pass on the environment"

# shellcheck source=/dev/null
. "$examples/several-vms"
start_activated nbdkit-zspage.service

names=$(nbdinfo --list --json "$uri" |
    jq -r '.exports[] | "\(."export-name") \(."export-size")"' |
    sort | tr '\n' ' ')
expect "devices" "$names" = "build 17179869184 db 9663676416 web 6442450944 "
expect "the size of db" "$(nbdinfo --size "$(export_uri db)")" = 9663676416
expect_fails nbdinfo --size "$uri"
