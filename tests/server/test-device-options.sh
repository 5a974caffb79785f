#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Options before the first device= are the defaults of all, those after it
# belong to that device.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

start_with_stats disksize=64M mem_limit=8M \
    device=a \
    device=b disksize=128M comp_algorithm=zstd algorithm_params=level=7 \
    device=c mem_limit=0 zspage_chain_size=4 algorithm_params=level=9

# Usage: check DEVICE SIZE LIMIT ALGORITHM LEVEL
check ()
{
    expect "disksize of $1" "$(attr disksize "$1")" -eq "$2"
    expect "mem_limit of $1" "$(attr mem_limit "$1")" -eq "$3"
    expect_match "comp_algorithm of $1" "$(attr comp_algorithm "$1")" "\\[$4\\]"
    expect "algorithm_params of $1" "$(attr algorithm_params "$1")" = "level=$5"
    expect "size of $1" "$(nbdinfo --size "$(export_uri "$1")")" -eq "$2"
}
check a $((64 * MIB)) $((8 * MIB)) auto 1
check b $((128 * MIB)) $((8 * MIB)) zstd 7
check c $((64 * MIB)) 0 auto 9

# The chain size shows in the classes: c has fewer.
classes ()
{
    attr classes "$1" | grep -cE '^ +[0-9]+ '
}
expect "classes of a" "$(classes a)" -eq 123
expect "classes of c" "$(classes c)" -eq 69
