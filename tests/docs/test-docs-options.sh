#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The options that the code takes, --help and the manual tell are the same.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"

# KEY=VALUE of "[KEY=]VALUE, KEY=VALUE" in each line.
keys ()
{
    sed 's/, */\n/g' | sed -n 's/^\[\{0,1\}\([a-z_]*\)=.*/\1/p' | sort -u
}

run_nbdkit "$plugin" --help | sed -n '/^plugin: /,$p' |
    grep -v '^ ' | keys >"$tmp/help"
tagged "$plugin_page" PARAMETERS | cut -f 2 | keys >"$tmp/manual"
sed -n 's/^  {"\([a-z_]*\)", \.\(device\|server\) = .*/\1/p
        s/^  if (strcmp (key, "\([a-z_]*\)") == 0)$/\1/p' \
    "$abs_top_srcdir/plugin/config.c" >"$tmp/code"

agree "options" "$tmp/code" "$tmp/help"
agree "options" "$tmp/help" "$tmp/manual"
