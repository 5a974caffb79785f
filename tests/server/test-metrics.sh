#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# /metrics is in Prometheus' text format, or in OpenMetrics if that is asked
# for; both have the figures of every device.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M compact_interval=0 device=default device=vm.1
../nbd-do "$(export_uri vm.1)" "write 0 4M text:1" "trim 0 64K"

http /metrics -f -D "$tmp/headers" >"$tmp/text"
expect_match "type" "$(grep -i '^content-type' "$tmp/headers")" \
    'text/plain; version=0\.0\.4'
http /metrics -f -D "$tmp/headers" \
    -H 'Accept: application/openmetrics-text; version=1.0.0' >"$tmp/open"
expect_match "type" "$(grep -i '^content-type' "$tmp/headers")" \
    'application/openmetrics-text; version=1\.0\.0'

expect "the end of OpenMetrics" "$(tail -n 1 "$tmp/open")" = "# EOF"
expect "EOF elsewhere" "$(cat "$tmp/text" "$tmp/open" | grep -c EOF)" -eq 1
expect "samples of both" "$(grep -v '^#' "$tmp/text")" = \
    "$(grep -v '^#' "$tmp/open")"

# In OpenMetrics a counter's family lacks the suffix that its samples have, and
# a unit is the end of the family's name.
awk '$2 == "TYPE" { type[$3] = $4; n++ }
     $2 == "UNIT" && substr ($3, length ($3) - length ($4)) != "_" $4 {
         print "bad unit: " $0; bad = 1 }
     !/^#/ { sub (/[{ ].*/, ""); family = $0
         if (!(family in type)) {
             sub (/_total$/, "", family)
             if (type[family] != "counter") { print "no type: " $0; bad = 1 }
         }
         else if (type[family] == "counter") { print "no _total: " $0; bad = 1 }
     }
     END { exit bad || n < 15 }' "$tmp/open" || die "that is not OpenMetrics"

sample ()
{
    awk -v s="$1{device=\"$2\"}" '$1 == s { print $2 }' "$tmp/text"
}
expect "orig_data_size" "$(sample zspage_orig_data_size_bytes vm.1)" -eq \
    "$(mm $orig vm.1)"
expect "orig_data_size" "$(sample zspage_orig_data_size_bytes default)" -eq 0
expect "freed_pages" "$(sample zspage_freed_pages_total vm.1)" -eq 16

requires promtool
promtool check metrics <"$tmp/text"
