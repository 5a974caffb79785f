#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# qemu-io writes patterns, aligned and not, and reads them back.

. ./functions.sh
requires qemu-io

start_zspage 256M
qemu-io -f raw "$uri" \
    -c "write -P 0x11 0 64k" -c "write -P 0x22 4k 4k" \
    -c "write -P 0x33 100001 99999" -c "write -P 0x44 1 1" \
    -c "write -P 0x55 128m 32m" -c "write -z 160m 1m" \
    -c "write -z -u 129m 3k" -c "discard 130m 1m" -c "flush" \
    -c "aio_write -P 0x66 200m 1m" -c "aio_write -P 0x77 201m 511" \
    -c "aio_flush" \
    -c "read -P 0x11 0 1" -c "read -P 0x44 1 1" -c "read -P 0x11 2 4094" \
    -c "read -P 0x22 4k 4k" -c "read -P 0x11 8k 56k" -c "read -P 0 65536 34465" \
    -c "read -P 0x33 100001 99999" -c "read -P 0 200000 1m" \
    -c "read -P 0x55 128m 1m" -c "read -P 0 129m 3k" \
    -c "read -P 0x55 135269376 1021k" -c "read -P 0 130m 1m" \
    -c "read -P 0x55 131m 29m" -c "read -P 0 160m 1m" \
    -c "read -P 0x66 200m 1m" -c "read -P 0x77 201m 511" \
    -c "read -P 0 210764287 1m" >"$tmp/out" 2>&1 || {
    cat "$tmp/out"
    die "qemu-io failed"
}
if grep -iE 'verification failed|error' "$tmp/out"; then
    die "qemu-io read something else"
fi
