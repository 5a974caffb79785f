#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A machine can boot that serves, and swaps on its own server or over a network
# that comes up after sysinit.target: no ordering is a loop.
# shellcheck source=units.sh
. "${0%/*}/units.sh"
requires systemd-analyze
make_root

cat >"$units/late-network.service" <<'EOF'
[Unit]
Before=network.target network-online.target
Wants=network.target
[Service]
Type=oneshot
ExecStart=sh
EOF
enable network-online.target late-network.service
enable sockets.target nbdkit-zspage.socket
enable multi-user.target nbdkit-zspage.service
enable multi-user.target nbdkit-zspage@.service nbdkit-zspage@alice.service
ln -s /usr/lib/systemd/system/remote-fs.target "$units/multi-user.target.wants"
enable remote-fs.target zspage-swap@.service zspage-swap@nbd0.service

# The system's own units may lack programs here.
loops ()
{
    verify multi-user.target shutdown.target | grep cycle || :
}

found=$(loops)
test -z "$found" || die "$found"

# They would be found.
sed -i 's/^Before=remote-fs.target/Before=swap.target remote-fs.target/' \
    "$units/zspage-swap@.service"
expect_match "swap before swap.target" "$(loops)" "cycle"
