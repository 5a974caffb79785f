#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Manual pages are formatted without warnings, and those of ours that they
# refer to exist.
# shellcheck source=../functions.sh.in
. ../functions.sh
requires man

for page in "$abs_top_srcdir"/man/*.[1-8]; do
    warnings=$(man -l --warnings -E UTF-8 "$page" 2>&1 >/dev/null)
    test -z "$warnings" || die "$page: $warnings"
    width=$(MANWIDTH=80 man -l "$page" 2>/dev/null | wc -L)
    # Examples may be as long as they are; nothing is longer than this.
    expect "the longest line of ${page##*/}" "$width" -le 100

    grep -oE '[a-z-]*zspage[a-z-]* \([1-8]\)' "$page" |
        sed 's/ (\(.\))/.\1/' | sort -u >"$tmp/references"
    while read -r name; do
        test -e "$abs_top_srcdir/man/$name" ||
            die "${page##*/} refers to $name, which there is not"
    done <"$tmp/references"
done
