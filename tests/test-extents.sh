#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Block status is exact after any writes, trims and zeroes.

. ./functions.sh

start_zspage 128M
./test-extents "$uri" "${ZSPAGE_SEED:-$RANDOM}" "$(pick 1500 300 40)"
