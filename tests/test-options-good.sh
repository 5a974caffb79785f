#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Good options are taken in all their spellings, and the device has the size
# that was asked for.

. ./functions.sh
requires nbdinfo

# Usage: good SIZE ARG...
good ()
{
    local size=$1
    shift

    start_zspage "$@"
    expect "size of nbdkit zspage $*" "$(nbdinfo --size "$uri")" -eq "$size"
    ./nbd-do "$uri" "write 0 $size text:1" "read 0 $size text:1"
    stop_server
}

good 16777216 16M
good 16777216 disksize=16M mem_limit=16M comp_algorithm=lz4
good 65536 64K comp_algorithm=zstd
good 65536 64K comp_algorithm=auto recompress_cpu=0
good 65536 64K recompress_cpu=100 algorithm_params=level=2 comp_algorithm=auto
good 4096 1
good 8192 4097
good 1048576 1M mem_limit=0
good 1048576 1M mem_limit=4095K
good 1048576 1M comp_algorithm=lz4 algorithm_params=level=65537
good 1048576 1M comp_algorithm=zstd algorithm_params=level=1
good 1048576 1M comp_algorithm=zstd algorithm_params=level=-5
good 1048576 1M 'algorithm_params= level=2  level=3 ' comp_algorithm=zstd
good 1048576 1M algorithm_params=
for chain in 4 16; do
    good 1048576 1M zspage_chain_size=$chain
done
