#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A path that is not exactly that of an attribute is refused, also when escapes
# make it look like one.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats 64M

for path in /devices/default/mm_stat%00 /devices/default/mm_stat%00.txt \
    /metrics%00 /devices%00/default /devices/default%00/mm_stat \
    /devices/default/mm_stat%0a /devices/default/mm_stat%20; do
    expect_http 404 '[a-z]{4}' "$path"
done
