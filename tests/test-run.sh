#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nbdkit --run: the device is there for a command, whose status is nbdkit's.

. ./functions.sh
requires nbdinfo
test "$sanitizer" != thread ||
    skip "the shell that --run starts does not stand a preloaded libtsan"

# shellcheck disable=SC2016
run_nbdkit -U - "$plugin" 16M --run \
    'unset LD_PRELOAD; ./nbd-do "$uri" "write 0 1M text:1" "read 0 1M text:1" &&
     nbdinfo --size "$uri"' >"$tmp/size"
expect "size" "$(cat "$tmp/size")" -eq 16777216

status=0
run_nbdkit -U - "$plugin" 16M --run 'unset LD_PRELOAD; exit 3' || status=$?
expect "exit status" "$status" -eq 3
