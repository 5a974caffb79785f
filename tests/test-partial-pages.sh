#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Trim frees whole pages and leaves the parts of pages at its edges; zero zeroes
# those, too.  This is what mkswap and 512-byte clients send.

. ./functions.sh

start_zspage 16M
./nbd-do "$uri" "write 0 64K text:1" \
    "trim 6K 12K" "read 0 8K text:1" "read 8K 8K 0x00" "read 16K 48K text:1" \
    "trim 20K 2K" "trim 21K 3K" "trim 23K 2K" "read 16K 48K text:1" \
    "zero 30K 9K" "read 16K 14K text:1" "read 30K 9K 0x00" \
    "read 39K 25K text:1" \
    "zero 48K 1" "read 49153 15K text:1" "read 48K 1 0x00" \
    "write 1M 4K 0x00" "write 1049600 3072 text:2" "read 1M 1K 0x00" \
    "read 1049600 3072 text:2" "zero 1049600 3072" "read 1M 4K 0x00" \
    "write 3145727 2 text:3" "read 3145727 2 text:3" \
    "read 3145728 4K 0x00" 2>"$tmp/err" && die "the last read should differ"
grep -q 'byte 3145728 of the device' "$tmp/err"
