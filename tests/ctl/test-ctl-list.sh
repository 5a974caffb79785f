#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Without a verb it prints a table as zramctl does, of columns and in units as
# wanted, whose figures are mm_stat's.

. "${0%/*}/ctl.sh"

start_zspage_stats 64M mem_limit=32M
store_pages 2000

expect_status 0
expect "lines" "$(wc -l <"$tmp/out")" -eq 2
read -r -a titles <"$tmp/out"
expect "titles" "${titles[*]}" = "NAME DISKSIZE DATA COMPR TOTAL RATIO\
 ALGORITHM MEM-LIMIT MEM-USED MIGRATED"
expect_match "row" "$(sed -n 2p "$tmp/out")" \
    '^default +64M +7\.8M +[0-9.]+M +[0-9.]+M +[0-9]\.[0-9]{2} auto +32M '

# In bytes, the figures are the server's.
expect_status 0 list --bytes --noheadings --raw default
read -r name disksize data compr total ratio _ limit max migrated <"$tmp/out"
read -r orig compr2 used limit2 max2 _ compacted _ _ \
    < <(zspagectl get default mm_stat)
expect name "$name" = default
expect disksize "$disksize" -eq 67108864
expect data "$data" -eq "$orig"
expect compr "$compr" -eq "$compr2"
expect total "$total" -eq "$used"
expect limit "$limit" -eq "$limit2"
expect max "$max" -eq "$max2"
expect migrated "$migrated" -eq "$compacted"
expect ratio "$ratio" = "$(awk "BEGIN { printf \"%.2f\", $data / $total }")"

# Columns, in any case, each once, and besides the usual ones.
expect_status 0 --noheadings --raw --output name,LEVEL,Name
expect "two columns" "$(cat "$tmp/out")" = "default 1"
expect_status 0 --raw -o +CLIENTS,DATA
expect "columns" "$(head -n 1 "$tmp/out" | wc -w)" -eq 11
expect_status 0 --output-all --raw
expect "columns and values" "$(head -n 1 "$tmp/out" | wc -w)" -eq \
    "$(tail -n 1 "$tmp/out" | wc -w)"
expect_failure 2 'NOSUCH: no such column' --output NAME,NOSUCH
expect_failure 2 'no such column' --output ''

# JSON has the columns as keys, in bytes; nothing else is on stdout.
expect_status 0 --json
expect "keys" "$(jq -r '.devices[0] | keys_unsorted | join(" ")' "$tmp/out")" \
    = "name disksize data compr total ratio algorithm mem_limit mem_used\
 migrated"
jq -e ".devices[0] | .name == \"default\" and .data == $orig and
    .total == $used and .algorithm == \"auto\" and .migrated == 0 and
    (.ratio - .data / .total | fabs) < 0.01" "$tmp/out" >/dev/null ||
    die "$(cat "$tmp/out")"
expect_status 0 --json --output-all
jq -e '.devices[0] | [.same_pages, .huge_pages, .mem_meta, .mem_reserve,
    .mem_resident, .mem_freeable, .clients, .failed_reads, .failed_writes,
    .level] | all(type == "number")' "$tmp/out" >/dev/null ||
    die "$(cat "$tmp/out")"

# An empty device has no ratio.
expect_status 0 reset default --yes
expect_status 0 --noheadings --raw -o RATIO
expect "no ratio" "$(cat "$tmp/out")" = -
expect_status 0 --json -o RATIO
expect "no ratio" "$(jq -c .devices "$tmp/out")" = '[{"ratio":null}]'

# No devices are no mistake, but are told of.
start_zspage_stats 64M on_demand=true
expect_status 0
test ! -s "$tmp/out" || die "a table of nothing: $(cat "$tmp/out")"
expect_match "note" "$(cat "$tmp/err")" \
    '^zspagectl: the server has no devices yet$'
expect_status 0 --json
expect "JSON" "$(jq -c . "$tmp/out")" = '{"devices":[]}'
expect_failure 1 'the server has none yet' show default
