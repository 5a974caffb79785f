#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Flush, FUA and the flags of zero succeed, and data are as they should be.

. ./functions.sh

start_zspage 16M
./nbd-do "$uri" flush \
    "write 0 1M text:1 fua" "read 0 1M text:1" \
    "trim 4K 8K fua" "read 4K 8K 0x00" "read 0 4K text:1" \
    "zero 16K 8K fua" "read 16K 8K 0x00" \
    "zero 32K 8K fast" "read 32K 8K 0x00" \
    "zero 48K 8K no-hole" "read 48K 8K 0x00" \
    "zero 64K 8K fua no-hole fast" "read 64K 8K 0x00" \
    "zero 81000 100 fast no-hole" "read 81000 100 0x00" \
    "read $((81100)) 100 text:1" "read 80900 100 text:1" \
    "zero 2M 1M fast" "read 2M 1M 0x00" \
    flush "read 128K 128K text:1"
