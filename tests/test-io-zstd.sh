#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As test-io, with zstd, the longest zspages, and a device that does not end
# on a slot table page.

. ./functions.sh

start_zspage "$(pick 197128192 197128192 50327552)" comp_algorithm=zstd \
    algorithm_params=level=1 zspage_chain_size=16
./test-io "$uri" "${ZSPAGE_SEED:-$RANDOM}" "$(pick 500 150 50)" \
    "$(pick 32M 32M 512K)"
