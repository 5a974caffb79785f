# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What tests of the documents share; each starts with `. "${0%/*}/docs.sh"'.
# Mostly reading manual pages, as far as ours are written alike.
# shellcheck disable=SC2034

# shellcheck source=../functions.sh.in
. ../functions.sh

plugin_page=$abs_top_srcdir/man/nbdkit-zspage-plugin.1
stats_page=$abs_top_srcdir/man/zspage-stats.7
ctl_page=$abs_top_srcdir/man/zspagectl.8

# The paragraphs with tags of a section, a line each: the heading it is under
# (the .SS, or -), a tab, the tag, a tab, the text up to the next macro.
# Usage: tagged PAGE SECTION
tagged ()
{
    sed -e 's/\\f(..//g; s/\\f.//g; s/\\-/-/g; s/\\(dq/"/g' -- "$1" |
        awk -v section="$2" '
            function flush () {
                if (tag != "")
                    print heading "\t" tag "\t" text
                tag = text = ""
            }
            function words (line) {
                # Within quotes, blanks count; outside they do not.
                macro = line
                sub (/ .*/, "", macro)
                sub (/^\.[A-Z]+ ?/, "", line)
                if (macro ~ /^\.(BI|BR|IB|IR|RB|RI)$/) {
                    out = ""
                    while (line != "") {
                        if (match (line, /^"[^"]*"/)) {
                            out = out substr (line, 2, RLENGTH - 2)
                            line = substr (line, RLENGTH + 1)
                        } else if (match (line, /^ +/)) {
                            line = substr (line, RLENGTH + 1)
                        } else {
                            match (line, /^[^ ]+/)
                            out = out substr (line, 1, RLENGTH)
                            line = substr (line, RLENGTH + 1)
                        }
                    }
                    return out
                }
                gsub (/"/, "", line)
                return line
            }
            /^\.S[HS] / {
                flush ()
                title = $0
                sub (/^\.S[HS] /, "", title)
                if ($1 == ".SH") { inside = title == section; heading = "-" }
                else heading = title
                next
            }
            !inside { next }
            /^\.T[PQ]/ { flush (); want = 1; next }
            want { tag = words ($0); want = 0; reading = 1; next }
            /^\./ { reading = 0 }
            reading && tag != "" { text = text (text == "" ? "" : " ") $0 }
            END { flush () }'
}

# Usage: agree WHAT FILE-A FILE-B
# Fails unless two lists, in any order, hold the same lines.
agree ()
{
    test -s "$2" || die "$1: nothing was found in ${2##*/}"
    sort -o "$2" -- "$2"
    sort -o "$3" -- "$3"
    diff -u --label "${2##*/}" --label "${3##*/}" -- "$2" "$3" ||
        die "$1: ${2##*/} and ${3##*/} do not agree, see above"
}
