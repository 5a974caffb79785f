#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A zero that crosses 128 MiB into a region where nothing is, and back from one,
# changes what it covers and nothing else.  Another plugin loses data here.

. ./functions.sh

M128=134217728
start_zspage 1G
./nbd-do "$uri" "write $((M128 - 65536)) 64K text:1" \
    "zero $((M128 - 4096)) 8K" \
    "read $((M128 - 65536)) 60K text:1" "read $((M128 - 4096)) 128K 0x00" \
    "write $((2 * M128)) 64K text:2" \
    "zero $((2 * M128 - 1000)) 3000" \
    "read $((2 * M128 + 2000)) 60K text:2" \
    "read $((2 * M128 - 4096)) $((4096 + 2000)) 0x00" \
    "write $((3 * M128 - 65536)) 128K text:3" \
    "trim $((3 * M128 - 4096)) 256M" \
    "read $((3 * M128 - 65536)) 60K text:3" \
    "read $((3 * M128 - 4096)) 16M 0x00"
