#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --help names every option, --dump-plugin says what this build can do.

. ./functions.sh

run_nbdkit "$plugin" --help >"$tmp/help"
for option in disksize mem_limit comp_algorithm algorithm_params \
    zspage_chain_size; do
    grep -q "^\[\?$option=" "$tmp/help" || die "--help lacks $option"
done
grep -q '^plugin: zspage ' "$tmp/help"

run_nbdkit "$plugin" --dump-plugin >"$tmp/dump"
for line in name=zspage magic_config_key=disksize thread_model=parallel \
    zspage_comp_algorithms=lz4,zstd zspage_chain_size=4-16 \
    zspage_max_disksize=17592186044416; do
    grep -qx "$line" "$tmp/dump" || die "--dump-plugin lacks $line"
done
grep -Eqx 'version=[0-9]+\.[0-9]+\.[0-9]+' "$tmp/dump"
