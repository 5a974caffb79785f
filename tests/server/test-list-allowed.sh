#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who may not open a device does not see it, nor its figures, in the list of
# exports.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdinfo jq

start_zspage 64M device=mine "allow_uid=$(id -u)" \
    device=secret "allow_uid=$(($(id -u) + 7))"
nbdinfo --list --json "$uri" >"$tmp/list" || :
cat "$tmp/list"
jq -e '[.exports[]."export-name"] == ["mine"]' "$tmp/list" >/dev/null ||
    die "the list is not just mine"
