#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With -r the device can be read but in no way changed.

. ./functions.sh
requires nbdinfo

start_zspage -r 16M
nbdinfo --is read-only "$uri"
expect "size" "$(nbdinfo --size "$uri")" -eq 16777216
./nbd-do "$uri" "read 0 16M 0x00" \
    "fails EPERM write 0 4K 0x55" \
    "fails EPERM trim 0 4K" \
    "fails EPERM zero 0 4K" \
    "read 0 16M 0x00"
expect "orig_data_size" "$(mm_stat_field 1)" -eq 0
