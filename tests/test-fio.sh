#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fio writes and verifies with checksums: several block sizes, four jobs, 16 in
# flight each.

. ./functions.sh
requires fio
fio --enghelp 2>/dev/null | grep -qw nbd || skip "this fio has no ioengine nbd"

start_zspage 256M
read -r -a sizes < <(pick "4k 512 5000 64k 1m" "4k 512 5000 64k 1m" "4k 512")
for bs in "${sizes[@]}"; do
    size=$(pick 12m 4m 128k)
    test "$bs" != 512 || size=$(pick 1m 1m 128k)
    fio --name=verify --ioengine=nbd --uri="$uri" --rw=randwrite --bs="$bs" \
        --size="$size" --offset_increment=64m --numjobs=4 --iodepth=16 \
        --verify=crc32c --verify_state_save=0 --verify_fatal=1 \
        --buffer_compress_percentage=60 --refill_buffers --randrepeat=0 --group_reporting --thread=1 \
        >"$tmp/fio" 2>&1 || {
        cat "$tmp/fio"
        die "fio with blocks of $bs"
    }
    grep -q 'err= 0' "$tmp/fio"
    grep -E 'WRITE:|READ:' "$tmp/fio" | sed "s/^/bs=$bs/"
done
