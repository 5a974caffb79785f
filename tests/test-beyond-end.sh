#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests beyond the end are refused, and those up to it are not.

. ./functions.sh

start_zspage 16M
./nbd-do "$uri" \
    "write $((16777216 - 1)) 1 0x55" "read $((16777216 - 1)) 1 0x55" \
    "fails EINVAL read 16M 1 0x00" \
    "fails EINVAL read $((16777216 - 1)) 2 0x00" \
    "fails EINVAL read 1T 4K 0x00" \
    "fails ENOSPC write 16M 1 0x00" \
    "fails ENOSPC write $((16777216 - 4095)) 4K 0x00" \
    "fails ENOSPC zero $((16777216 - 4096)) 8K" \
    "fails EINVAL trim $((16777216 - 4096)) 8K" \
    "fails EINVAL trim 0x7ffffffffffff000 4K" \
    "fails any zero 0xfffffffffffff000 4K" \
    "read $((16777216 - 1)) 1 0x55" \
    "write 0 16M text:1" "read 0 16M text:1"
