#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# classes is zsmalloc's table: its columns, a row for each class of the chain
# size, and totals that agree with the rows and with mm_stat.

. ./functions.sh
requires nbdcopy

header=" class  size       10%       20%       30%       40%       50%       60%\
       70%       80%       90%       99%      100% obj_allocated   obj_used\
 pages_used pages_per_zspage freeable"

# Usage: check CHAIN NR-CLASSES
check ()
{
    start_zspage 64M "zspage_chain_size=$1"
    ./nbd-do "$uri" "write 0 4M text:1" "write 8M 1M random:1" \
        "each 8K trim 0 1M" "trim 1M 8K"
    node classes >"$tmp/classes"
    expect "header" "$(head -n 1 "$tmp/classes")" = "$header"

    awk -v mem_used="$(mm_stat_field 3)" -v want="$2" -v chain="$1" '
        function bad (what) { print what ": " $0; failed = 1; exit 1 }
        NR == 1 || NF == 0 { next }
        $1 == "Total" {
            totals++
            if (NF != 16) bad("fields")
            for (i = 2; i <= 15; i++)
                if ($i != sum[i + 1]) bad("column " i)
            if ($16 != sum[18]) bad("freeable")
            if ($15 * 4096 != mem_used) bad("mem_used_total " mem_used)
            next
        }
        {
            rows++
            if (NF != 18) bad("fields")
            # The largest size of those that were merged into the class.
            if ($2 != ($1 == 254 ? 4096 : 32 + 16 * $1)) bad("size")
            if (rows > 1 && $1 <= last) bad("order")
            last = $1
            if ($17 < 1 || $17 > chain) bad("pages_per_zspage")
            if ($16 % $17) bad("pages_used")
            if ($15 > $14 || $14 * $2 > $16 * 4096) bad("objects")
            for (i = zspages = 0; i < 11; i++) zspages += $(3 + i)
            if (zspages * $17 != $16) bad("zspages")
            for (i = 3; i <= 18; i++) if (i != 17) sum[i] += $i
        }
        END {
            if (failed) exit 1
            if (totals != 1) { print "no total"; exit 1 }
            if (rows != want) { print rows " rows, not " want; exit 1 }
        }' "$tmp/classes" || die "classes of chain size $1"
}

check 4 69
check 8 123
check 16 191
