#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# io_stat is zram's line: failed reads and writes, invalid requests, and pages
# that clients said they no longer need.

. ./functions.sh
requires nbdcopy

start_zspage 64M mem_limit=4M
expect "io_stat" "$(node io_stat)" = "       0        0        0        0"

# 3 pages, and one and two halves of which only the one counts.
./nbd-do "$uri" "write 0 1M text:1" "trim 0 12K" "trim 18K 8K" "zero 64K 8K"
./nbd-do "$uri" "until ENOSPC each 4K write 2M 16M random:1" \
    "fails ENOSPC each 4K write 32M 36K random:1"
expect "io_stat" "$(node io_stat)" = "       0       10        0        6"
expect "io_stat" "$(node default/io_stat)" = "       0       10        0        6"

# Refused before the store sees them.
./nbd-do "$uri" "fails any read 64M 4K 0x00" "fails any write 64M 4K 0x00"
expect "io_stat" "$(node io_stat)" = "       0       10        0        6"
