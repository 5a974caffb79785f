#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The socket has mode 0600, or that of stats_mode=, whatever the umask.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"

for mask in 0 022 077; do
    umask $mask
    start_with_stats 64M
    expect "mode with umask $mask" "$(stat -c %a "$stats")" -eq 600
    start_with_stats 64M stats_mode=0660
    expect "mode with umask $mask" "$(stat -c %a "$stats")" -eq 660
    attr mm_stat >/dev/null
done
