#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A full device is said once in the log, not with every write that fails.

. ./functions.sh

start_zspage 64M mem_limit=2M
./nbd-do "$uri" "until ENOSPC each 4K write 0 32M random:1" \
    "fails ENOSPC each 4K write 32M 8M random:1"
cat "$server_log"
expect "lines of the log" "$(wc -l <"$server_log")" -eq 1
grep -q "device default is full: [0-9]* bytes.*mem_limit is 2097152" "$server_log"
