#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What zspagectl takes, its --help and its manual tell are the same, and its
# attributes are those of the server.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"
zspagectl=$abs_top_builddir/ctl/zspagectl
test -x "$zspagectl" || skip "zspagectl is not built"

"$zspagectl" --help >"$tmp/all-help"

sed -n '/^Verbs:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' "$tmp/all-help" \
    >"$tmp/verbs"
tagged "$ctl_page" VERBS | cut -f 2 | sed 's/[^a-z].*//' >"$tmp/verbs-manual"
agree "verbs" "$tmp/verbs" "$tmp/verbs-manual"

sed -n '/^Options:/,/^$/s/.*\(--[a-z-]*\).*/\1/p' "$tmp/all-help" \
    >"$tmp/options"
tagged "$ctl_page" OPTIONS | cut -f 2 | grep -o -e '--[a-z-]*' \
    >"$tmp/options-manual"
agree "options" "$tmp/options" "$tmp/options-manual"

sed -n '/^Columns:/,/^$/s/^  \([A-Z0-9-]\{1,\}\) .*/\1/p' "$tmp/all-help" \
    >"$tmp/columns"
tagged "$ctl_page" COLUMNS | cut -f 2 | sed 's/[^A-Z0-9-].*//' \
    >"$tmp/columns-manual"
agree "columns" "$tmp/columns" "$tmp/columns-manual"

sed -n '/^Attributes/,/^$/s/^  \([a-z._]*\)  *\([g-][s-]\) .*/\1 \2/p' \
    "$tmp/all-help" >"$tmp/attributes"
tagged "$stats_page" ATTRIBUTES | cut -f 2 | sed '
    s/ (GET, PUT)$/ gs/
    s/ (GET)$/ g-/
    s/ (PUT)$/ -s/' >"$tmp/attributes-manual"
agree "attributes" "$tmp/attributes" "$tmp/attributes-manual"
