#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The attributes that the server has and the manual lists are the same, and so
# is what can be done with them.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"
requires curl nbdinfo
nodes=$abs_top_srcdir/plugin/stats/nodes.c

start_nbdkit "$plugin" "stats=unix:$tmp/stats" 64M

# Usage: status NAME [CURL-OPTION...]
status ()
{
    curl -sS -o "$tmp/answer" -w '%{http_code}' --unix-socket "$tmp/stats" \
        "${@:2}" "http://localhost/devices/default/$1"
}

sed -n '/ stats_nodes\[\] = {/,/^};/s/^  \([A-Z]* (\|{\.name = \)"\([a-z._]*\)",.*/\2/p' \
    "$nodes" >"$tmp/names"
while read -r name; do
    got=$(status "$name")
    # A value that nothing takes but compact, which takes any.
    put=$(status "$name" -X PUT -d '?')
    case $got,$put in
        200,405) methods=GET ;;
        200,400 | 409,400) methods="GET, PUT" ;; # 409: there is no dictionary
        405,400 | 405,200) methods=PUT ;;
        *) die "$name: GET gets $got and PUT gets $put" ;;
    esac
    # What can be got, and is not long or of the server alone, is an export too.
    case $name,$methods in
        block_state,* | dictionaries,* | dictionary,*)
            expect_fails nbdinfo --size "$(export_uri "default/$name")" \
                2>"$tmp/said"
            ;;
        *,GET*) nbdinfo --size "$(export_uri "default/$name")" >/dev/null ;;
    esac
    echo "$name ($methods)"
done <"$tmp/names" >"$tmp/server"

tagged "$stats_page" ATTRIBUTES | cut -f 2 >"$tmp/manual"
agree "attributes" "$tmp/server" "$tmp/manual"
