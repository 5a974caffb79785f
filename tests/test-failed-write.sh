#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A write that finds no memory leaves the old page, of whatever kind it was.
# Another plugin has lost it by then.

. ./functions.sh

start_zspage 64M mem_limit=2M
./nbd-do "$uri" "write 0 16K text:1" "write 16K 4K 0x33" "write 20K 4K 0x00" \
    "write 24K 4K text:2" "until ENOSPC each 4K write 1M 32M random:1" \
    "fails ENOSPC each 4K write 0 36K random:9" \
    "read 0 16K text:1" "read 16K 4K 0x33" "read 20K 4K 0x00" \
    "read 24K 4K text:2" "read 28K 8K 0x00" \
    "fails ENOSPC write 16484 4000 random:9" "read 16K 4K 0x33" \
    "fails ENOSPC write 2K 20K random:9" \
    "read 0 16K text:1" "read 16K 4K 0x33"
