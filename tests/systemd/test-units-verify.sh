#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# systemd finds nothing wrong with any unit.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-analyze
make_root

cd "$units" || exit
problems=$(verify ./*.service ./*.socket nbdkit-zspage@alice.service \
    nbdkit-zspage@alice.socket zspage-swap@nbd0.service)
test -z "$problems" || die "systemd-analyze verify says: $problems"

# It would say so.
sed 's/^KillMode=/KilMode=/' nbdkit-zspage.service >wrong.service
expect_match "a wrong key" "$(verify wrong.service)" "KilMode"
