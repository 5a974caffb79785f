#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What nbdinfo says of the device: its size and what it can do.

. ./functions.sh
requires nbdinfo jq

start_zspage 5G
nbdinfo --json "$uri" >"$tmp/info"
jq -e '.exports | length == 1' "$tmp/info" >/dev/null

# Usage: field NAME VALUE
field ()
{
    local value

    value=$(jq -c ".exports[0].\"$1\"" "$tmp/info")
    expect "$1" "$value" = "$2"
}

field export-name '""'
field export-size 5368709120
field block_size_minimum 1
field block_size_preferred 4096
field block_size_maximum 33554432
field can_fast_zero true
field can_flush true
field can_fua true
field can_multi_conn true
field can_trim true
field can_zero true
field can_cache false
field is_rotational false
field is_read_only false
field contexts '["base:allocation"]'

# The device has a name, and the empty name is it.
for name in "" default; do
    expect "size of '$name'" \
        "$(nbdinfo --size "$(export_uri "$name")")" -eq 5368709120
done

# A list shows the device, and not all the statistics beside it.
nbdinfo --list --json "$uri" >"$tmp/info"
jq -e '.exports | length == 1' "$tmp/info" >/dev/null
field export-name '""'
field export-size 5368709120
