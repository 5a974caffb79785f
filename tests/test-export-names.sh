#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Names of exports that do not exist, whatever is in them, are refused with a
# message that says what there is, and the server goes on.

. ./functions.sh
requires nbdinfo

start_zspage 16M

repeat ()
{
    printf "%$2s" "" | sed "s|.|$1|g"
}

names=(nope "default/" "/" "//" "/mm_stat" "default/nope" "default//mm_stat"
       "nope/mm_stat" "mm_stat/mm_stat" "mm_stat/" "default/mm_stat/" " "
       "default " "Default" "." ".." "../default" "mm_stat " "MM_STAT"
       "stats" "stats.jsonx" "%s%n%s" "\$(touch $tmp/x)" $'a\nb' $'\e[31mred'
       $'\x01\x02\x7f' $'\xff\xfe' "größe" "日本語/mm_stat" $'mm_stat\n'
       "$(repeat a 64)" "$(repeat a 65)" "$(repeat x 4096)"
       "$(repeat / 4096)" "default/$(repeat y 4000)"
       "$(repeat z 4000)/mm_stat")

for name in "${names[@]}"; do
    if nbdinfo --size "$(export_uri "$name")" >"$tmp/out" 2>&1; then
        die "export '$name' exists"
    fi
done

expect "complaints about names" \
    "$(grep -c "no such export; devices: default; each has mm_stat, io_stat, classes and stats.json" "$server_log")" \
    -ge ${#names[@]}
if grep -P '[^\x20-\x7e]' "$server_log"; then
    die "characters of a client's came into the log"
fi
expect "longest line of the log" "$(wc -L <"$server_log")" -lt 400

# The client is told, too: that it is not there.
expect_fails nbdinfo "$(export_uri nope)" >"$tmp/out" 2>&1
grep -q 'No such file or directory for export: nope' "$tmp/out"

expect "size" "$(nbdinfo --size "$uri")" -eq 16777216
