#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The description begins with a headline for people, and holds the nine figures
# of mm_stat by name, with the values that mm_stat has.

. ./functions.sh
requires nbdinfo jq

names=(orig_data_size compr_data_size mem_used_total mem_limit mem_used_max
       same_pages pages_compacted huge_pages huge_pages_since)

description ()
{
    nbdinfo --json "$@" "$uri" | jq -r '.exports[0].description'
}

# Usage: check HEADLINE-REGEX
check ()
{
    local text figures want="" sep="" i

    for text in "$(description)" "$(description --list)"; do
        expect_match "description" "$text" "^compressed RAM \(auto\): $1; mm_stat: "
        read -r -a figures < <(node mm_stat)
        want="" sep=""
        for i in "${!names[@]}"; do
            want+="$sep${names[i]}=${figures[i]}"
            sep=" "
        done
        expect "figures" "${text#*; mm_stat: }" = "$want"
    done
}

start_zspage 64M compact_interval=0
check "0 bytes stored in 0 bytes, no limit"
./nbd-do "$uri" "write 0 16M text:1"
check "16\.0 MiB stored in [3-9]\.[0-9] MiB \(ratio [2-5]\.[0-9]{2}\), no limit"

start_zspage 64M compact_interval=0 mem_limit=8M
./nbd-do "$uri" "write 0 4M random:1"
check "4\.0 MiB stored in 4\.[0-9] MiB \(ratio [01]\.[0-9]{2}\), 5[0-9]% of the limit of 8\.0 MiB"
