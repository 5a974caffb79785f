#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A page of one device is never read through another, nor what was there before
# a trim.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

seed=${ZSPAGE_SEED:-$RANDOM}
echo "seed $seed: repeat with ZSPAGE_SEED=$seed"
for algorithm in lz4 zstd; do
    start_with_stats 2M compact_interval=50ms comp_algorithm=$algorithm \
        device=a device=b
    ./test-device-isolation "$seed" "$(export_uri a)" "$(export_uri b)"
done
