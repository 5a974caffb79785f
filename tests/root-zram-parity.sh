#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The same pages of real processes through kernel zram and through us come to
# the same figures, as zram itself tells them: lz4, zspages of up to 8 pages.
# Figures begin with `|'.

. ./functions.sh
requires nbdcopy
requires_plain "the figures need as many pages as that"
requires_zram

nr_pages=100000
real_pages $nr_pages "$tmp/pages"

zram_store "$tmp/pages"
read -r k_orig k_compr k_used _ _ k_same _ k_huge _ <<<"$zram_mm_stat"

start_zspage $((nr_pages * 4096)) comp_algorithm=lz4 zspage_chain_size=8
quietly "$zspage_pages" store "$uri" "$tmp/pages"
line=$(node mm_stat)
read -r orig compr used _ _ same _ huge _ <<<"$line"
quietly "$zspage_pages" verify "$uri" "$tmp/pages"

echo "| $nr_pages pages of real processes; mm_stat:"
echo "| kernel: $zram_mm_stat"
echo "| zspage: $line"
awk -v kc="$k_compr" -v ku="$k_used" -v c="$compr" -v u="$used" -v o="$orig" '
    BEGIN {
        printf "| compr_data_size  %.5f of the kernel'\''s\n", c / kc
        printf "| mem_used_total   %.5f of the kernel'\''s\n", u / ku
        printf "| efficiency       %.4f (kernel %.4f)\n", c / u, kc / ku
        printf "| ratio            %.4f (kernel %.4f)\n", o / u, o / ku
    }'

# Usage: within WHAT A B AT-MOST
within ()
{
    expect "$1: $2, kernel $3; difference" $(($2 > $3 ? $2 - $3 : $3 - $2)) \
        -le "$4"
}

expect "orig_data_size" "$orig" -eq "$k_orig"
expect "same_pages" "$same" -eq "$k_same"
within "huge_pages" "$huge" "$k_huge" $((nr_pages / 1000))
within "compr_data_size" "$compr" "$k_compr" $((k_compr / 200))
expect "mem_used_total" "$used" -le "$k_used"
