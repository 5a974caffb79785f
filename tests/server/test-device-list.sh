#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdinfo --list shows every device with its description.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdinfo jq

start_zspage disksize=64M device=vm1 device=default device=vm2 mem_limit=8M
../nbd-do "$(export_uri vm2)" "write 0 2M text:1"
nbdinfo --list --json "$uri" >"$tmp/list"
expect "names" "$(jq -r '.exports[]["export-name"]' "$tmp/list" | sort | xargs)" \
    = "vm1 vm2"
expect "exports" "$(jq '.exports | length' "$tmp/list")" -eq 3

# The one called default is "".
for name in "" vm1 vm2; do
    description=$(jq -r --arg name "$name" '.exports[] |
        select (.["export-name"] == $name) | .description' "$tmp/list")
    expect_match "description of '$name'" "$description" \
        '^compressed RAM \(auto\): .* stored in .*mm_stat: orig_data_size='
done
expect_match "description of vm2" "$description" '2\.0 MiB stored.*limit of 8\.0'
