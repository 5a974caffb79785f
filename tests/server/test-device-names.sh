#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Names that can be no device's are refused, also such as no library would send,
# and the log shows them harmlessly.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

for option in on_demand=false on_demand=true; do
    start_with_stats 64M "$option"
    ../nbd-do "$uri" "write 0 4K text:1"
    ./nbd-names "$sock"
    ../nbd-do "$uri" "read 0 4K text:1"
    expect "devices" "$(http /devices | jq length)" -eq 1

    grep -q "export 'a/b': no such export; devices: default" "$server_log" ||
        die "the log does not say why"
    if LC_ALL=C grep -n '[^ -~]' "$server_log"; then
        die "the log has what is not printable"
    fi
    expect "the longest line" "$(wc -L <"$server_log")" -le 5000
done
