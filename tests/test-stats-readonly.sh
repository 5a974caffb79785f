#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Statistics can be read from any byte on, and not be written.

. ./functions.sh
requires nbdinfo nbdcopy jq

start_zspage 16M
for name in mm_stat io_stat classes stats.json default/mm_stat; do
    u=$(export_uri "$name")
    nbdinfo --is read-only "$u" || die "$name can be written"
    nbdinfo --json "$u" >"$tmp/info"
    jq -e '.exports[0] | .can_multi_conn == false and
        .block_size_minimum == 1 and .can_trim == false' "$tmp/info" \
        >/dev/null || die "$name: $(cat "$tmp/info")"
    ./nbd-do "$u" "fails EPERM write 0 1 0x55" "fails EPERM zero 0 1" \
        "fails EPERM trim 0 1" "fails EINVAL read 0 1M 0x00"
done
# A line of zram ends there.
size=$(nbdinfo --size "$(export_uri mm_stat)")
./nbd-do "$(export_uri mm_stat)" "read $((size - 1)) 1 0x0a" "read 0 1 0x20"
