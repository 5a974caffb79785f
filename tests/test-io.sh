#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests of every kind and size on four connections, 16 in flight on each,
# against a copy of the device.

. ./functions.sh

start_zspage "$(pick 192M 192M 48M)"
./test-io "$uri" "${ZSPAGE_SEED:-$RANDOM}" "$(pick 1000 300 50)" \
    "$(pick 32M 32M 512K)"
