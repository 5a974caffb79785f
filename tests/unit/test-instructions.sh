#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The paths of the store take no more instructions than they did, whatever the
# speed of this machine: those of our own code, a page, may exceed what
# instruction-bounds.tsv records by a tenth, which is what compilers differ by.
# What libraries add depends on their version, and on the processor that they
# choose their code for; it is shown, and not bounded.
#
#   ZSPAGE_INSTRUCTION_BOUNDS  another file of bounds
#   ZSPAGE_RENEW_BOUNDS        if set, record what is counted in that file

# shellcheck source=SCRIPTDIR/../functions.sh
. ../functions.sh

bounds=${ZSPAGE_INSTRUCTION_BOUNDS:-${srcdir:-.}/instruction-bounds.tsv}
renew=${ZSPAGE_RENEW_BOUNDS:-}

test "$sanitizer" = no || skip "sanitizer $sanitizer adds instructions"
requires valgrind readelf

# --- Whether the code is what the bounds are for, by what compilers say of
# themselves: each object was compiled by gcc, with these options and no others.

producers=$(readelf --debug-dump=info --dwarf-depth=1 ./instructions |
    sed -n 's/.*DW_AT_producer.*): //p; s/.*DW_AT_producer *: GNU/GNU/p' |
    sed 's/ *$//' | sort -u)
test -n "$producers" || skip "there is no debugging information in the code"
while IFS= read -r producer; do
    read -r -a words <<<"$producer"
    case "$producer" in
    "GNU AS"*) continue ;;
    "GNU C"*" -O2"*) compiler="gcc ${words[2]}" ;;
    *) skip "bounds are for gcc -O2 -g, but this is of $producer" ;;
    esac
    for word in "${words[@]:3}"; do
        case "$word" in
        -mtune=generic | -march=x86-64 | -g | -O2) ;;
        -fPIC | -fPIE | -fpie | -fasynchronous-unwind-tables) ;;
        *) skip "bounds are for gcc -O2 -g on x86-64, but this is of $producer"
        esac
    done
done <<<"$producers"
test -n "${compiler:-}" || skip "no code of gcc's"

# --- Count.

status=0
VALGRIND_OPTS='' timeout -k 1 300 valgrind --quiet --tool=callgrind \
    --instr-atstart=no --callgrind-out-file="$tmp/dump" \
    --compress-strings=no --compress-pos=no \
    ./instructions >"$tmp/said" 2>&1 || status=$?
case $status in
0) ;;
77) skip "$(cat "$tmp/said")" ;;
*)
    cat "$tmp/said"
    die "it ended with status $status under callgrind"
    ;;
esac

# PATH, and instructions a page: of our own, of libraries, of all.
# Of the lines of a dump, those that begin with a digit are costs of the object
# and function named last; but after calls= it is the callee's, counted already.
# XXH3 is a library, though inlined, and depends on what the processor has.
# Usage: counted DUMP, or with --by-function: of our own, and which function
counted ()
{
    awk -v by_function="${2:-}" '
    /^desc: Trigger: Client Request: / { path = $(NF - 1); nr_pages = $NF }
    /^totals: / { totals = $2 }
    sub(/^ob=/, "") { is_ours = /\/instructions$/ }
    sub(/^fn=/, "") { fn = $0; is_xxh = /codec_hash/ || /XXH/ }
    /^calls=/ { getline; next }
    /^[0-9]/ {
        all += $2
        if (is_ours && !is_xxh) { ours += $2; by[fn] += $2 }
    }
    END {
        if (nr_pages == 0 || all == 0 || all != totals)
            printf "%s: %d pages, counts add up to %d, not to %d\n",
                FILENAME, nr_pages, all, totals
        else if (by_function)
            for (fn in by)
                printf "%10.1f %s\n", by[fn] / nr_pages, fn
        else
            printf "%s\t%.1f\t%.1f\t%.1f\n", path, ours / nr_pages,
                (all - ours) / nr_pages, all / nr_pages
    }' "$1"
}

dumps=("$tmp"/dump.*)
for dump in "${dumps[@]}"; do
    # The last is that of the end.
    grep -q '^desc: Trigger: Client Request: ' "$dump" || continue
    row=$(counted "$dump")
    expect_match "a dump of callgrind's" "$row" \
        '^[a-z0-9-]+	[0-9.]+	[0-9.]+	[0-9.]+$'
    printf '%s\t%s\n' "$row" "$dump"
done >"$tmp/rows"
test -s "$tmp/rows" || die "callgrind made no dumps"

if test -n "$renew"; then
    {
        printf '%s\n' '# SPDX-License-Identifier: BSD-3-Clause' \
            '# What test-instructions.sh compares with.' \
            '# Made by: make -C tests/unit renew-instruction-bounds' \
            "# On x86-64, with: $compiler -O2 -g" \
            '# path	instructions of our own a page'
        cut -f 1,2 "$tmp/rows"
    } >"$tmp/bounds"
    cat "$tmp/bounds" >"$bounds"
    cat "$bounds"
    exit 0
fi

# --- Compare.

test -r "$bounds" || die "cannot read $bounds"
recorded_with=$(sed -n 's/^# On x86-64, with: //p' "$bounds")
echo "instructions a page; this is of $compiler -O2 -g, the record of $recorded_with"
awk -F '\t' '
    BEGIN {
        printf "%-12s %10s %10s %10s %10s %10s\n", "path", "ours",
            "recorded", "allowed", "libraries", "all"
    }
    FNR == NR {
        if (!/^#/)
            recorded[$1] = $2
        next
    }
    !($1 in recorded) {
        print $1 ": no figure is recorded"
        failed = 1
        next
    }
    {
        allowed = recorded[$1] * 1.1
        printf "%-12s %10.1f %10.1f %10.1f %10.1f %10.1f\n", $1, $2,
            recorded[$1], allowed, $3, $4
        if ($2 > allowed) {
            over = over sprintf("%s: measured %.1f instructions a page, " \
                "recorded %.1f, allowed %.1f\n", $1, $2, recorded[$1], allowed)
            print $5 >dumps
            failed = 1
        } else if ($2 < recorded[$1] * 0.9)
            lower = lower " " $1
        delete recorded[$1]
    }
    END {
        for (path in recorded) {
            print path ": is recorded, but was not counted"
            failed = 1
        }
        printf "%s", over
        if (lower)
            print "bounds can be lowered:" lower
        exit failed
    }' dumps="$tmp/over" "$bounds" "$tmp/rows" && exit 0

if test -s "$tmp/over"; then
    while IFS= read -r dump; do
        echo "most of what is ours in $(counted "$dump" | cut -f 1), a page:"
        counted "$dump" --by-function | sort -rn | sed -n 1,8p
    done <"$tmp/over"
fi
die "see above; if that is meant to be: \
make -C tests/unit renew-instruction-bounds"
