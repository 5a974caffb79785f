#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Figures: name, group, unit, type, meaning and metric are the same in the JSON
# and the metrics of a server and in the manual.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"
requires curl jq

start_nbdkit "$plugin" "stats=unix:$tmp/stats" 64M
get ()
{
    curl -sS --fail --unix-socket "$tmp/stats" "http://localhost/$1"
}

# Both are printed in the order of the one table.
get devices/default/stats.json | jq -r 'to_entries[]
    | select (.value | type == "object") | .key as $group
    | .value | keys_unsorted[] | "\($group) \(.)"' >"$tmp/names"
get metrics >"$tmp/metrics"
awk '$2 == "HELP" { name = $3; $1 = $2 = $3 = ""; sub (/^ */, ""); help = $0 }
     $2 == "TYPE" {
         family = name
         sub (/_total$/, "", family)
         n = split (family, words, "_")
         unit = words[n] ~ /^(bytes|pages|seconds)$/ ? words[n] : "count"
         printf "(%s; %s %s): %s\n", unit, $4, name, help
     }' "$tmp/metrics" >"$tmp/meanings"
expect "metrics and JSON members" "$(wc -l <"$tmp/meanings")" -eq \
    "$(wc -l <"$tmp/names")"
paste -d ' ' "$tmp/names" "$tmp/meanings" >"$tmp/server"

# In the manual, a sentence.
tagged "$stats_page" FIGURES |
    awk -F '\t' '{
        sub (/\.$/, "", $3)
        lower = $2 ~ /^[a-z0-9_]* \(/ ? tolower (substr ($3, 1, 1)) : ""
        print $1 " " $2 ": " lower substr ($3, 2)
    }' >"$tmp/manual"
agree "figures" "$tmp/server" "$tmp/manual"

# The plugin's page has those that zram has, with unit but for pages.
sed -n 's/^\(mm_stat\|io_stat\) \([a-z_]*\) (\([a-z]*\);[^)]*): \(.*\)/\1 \2: \4 (\3)/
        s/ (pages)$//; s/ (count)$//
        /^\(mm_stat\|io_stat\) [a-z_]*: /p' "$tmp/server" >"$tmp/zram-figures"
tagged "$plugin_page" EXPORTS | sed -n '/^\(mm_stat\|io_stat\)\t/p' |
    awk -F '\t' '{
        sub (/\.$/, "", $3)
        print $1 " " $2 ": " tolower (substr ($3, 1, 1)) substr ($3, 2)
    }' >"$tmp/plugin-manual"
agree "figures" "$tmp/zram-figures" "$tmp/plugin-manual"

# The members beside the groups.
get devices/default/stats.json | jq -r 'to_entries[]
    | select (.value | type != "object") | .key' >"$tmp/members"
sed -n '/^\.SH FIGURES/,/^\.SS/s/^\.BR\{0,1\} \([a-z_]*\).*/\1/p' \
    "$stats_page" >"$tmp/members-manual"
agree "members of a device" "$tmp/members" "$tmp/members-manual"
