#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# systemd thinks that the servers are exposed by less than 3 of 10, and they
# may still do what they must.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-analyze
make_root

for unit in nbdkit-zspage.service nbdkit-zspage@.service; do
    report=$(systemd-analyze security --no-pager --offline=true \
        --threshold=30 "$units/$unit") || die "$unit: $report"
    tail -n 1 <<<"$report"

    # What hardening must not take away: see the comments in the unit.
    for line in LimitMEMLOCK=infinity OOMScoreAdjust=-1000 KillMode=process \
        SendSIGKILL=no MemorySwapMax=0; do
        grep -qx -e "$line" "$units/$unit" || die "$unit: no $line"
    done
    if grep -qx 'PrivateUsers=yes' "$units/$unit"; then
        die "$unit: PrivateUsers= hides from allow_uid= who connects"
    fi
done
