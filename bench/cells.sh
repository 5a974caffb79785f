# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# The cells of nbd-bench: the loads that each server is measured under.
#
# shellcheck disable=SC2034
# Sourced; uses die and bad_usage of nbd-bench.
#
# Before each cell a server has stored the whole span, and after it again.  That
# is what makes cells independent of those before, and lets the data be verified
# at the end.  By op:
#
#   read write mixed  over the whole span, for as long as --seconds says; mixed
#                     is half reads and half writes
#   half              writes over the whole span, of which every other page is
#                     stored as they begin, and nothing else: for that long, but
#                     no more than pieces of that size are in the span
#   trim              likewise; a random piece may be one that was trimmed
#                     before, so that 63% of the span is in the end
#   replay            the requests of the recorded trace once, in their order,
#                     one in flight; --seconds times 8 must do for that

# name op pattern size connections depth
default_cells='
read-4k      read   random     4K   4 16
write-4k     write  random     4K   4 16
mixed-4k     mixed  random     4K   4 16
half-4k      half   random     4K   4 16
trim-4k      trim   random     4K   4 16
read-4k-seq  read   sequential 4K   1 16
write-4k-seq write  sequential 4K   1 16
read-32k     read   random     32K  1 4
write-32k    write  random     32K  1 4
read-128k    read   random     128K 1 4
write-128k   write  random     128K 1 4
read-1m      read   sequential 1M   1 4
write-1m     write  sequential 1M   1 4
read-4k-one  read   random     4K   1 1
write-4k-one write  random     4K   1 1
swap-mix     replay recorded   -    1 1
'

matrix_ops='read write mixed half trim'
matrix_patterns='random sequential'
matrix_sizes='4k 32k 128k 1m'
matrix_depths='1x1 1x4 1x16 1x64 2x16 4x1 4x16 4x64' # connections x in flight

# The cell that OP-PATTERN-SIZE-CxD names, as a line of the table; nothing if
# $1 is no such name.
cell_of_name ()
{
    local op pattern size depths

    [[ $1 =~ ^([a-z]+)-([a-z]+)-([0-9]+[km])-([1-9][0-9]{0,2})x([1-9][0-9]{0,2})$ ]] ||
        return 0
    op=${BASH_REMATCH[1]} pattern=${BASH_REMATCH[2]} size=${BASH_REMATCH[3]}
    depths=${BASH_REMATCH[4]}' '${BASH_REMATCH[5]}
    if [[ " $matrix_ops " = *" $op "* && " $matrix_patterns " = *" $pattern "* &&
        " $matrix_sizes " = *" $size "* ]]; then
        echo "$1 $op $pattern ${size^^} $depths"
    fi
}

matrix_cells ()
{
    local op pattern size depths

    for op in $matrix_ops; do
        for pattern in $matrix_patterns; do
            for size in $matrix_sizes; do
                for depths in $matrix_depths; do
                    cell_of_name "$op-$pattern-$size-$depths"
                done
            done
        done
    done
}

# The cells called $1, one a line, as the table has them.
cells_called ()
{
    local found

    case $1 in
        default) found=$(grep -v '^ *$' <<<"$default_cells") ;;
        all) found=$(grep -v '^ *$' <<<"$default_cells"; matrix_cells) ;;
        *) found=$(grep "^$1 " <<<"$default_cells")
           found=${found:-$(cell_of_name "$1")} ;;
    esac
    test -n "$found" || return 1
    echo "$found"
}

# Set $chosen_cells to what the list $1 names.
choose_cells ()
{
    local name

    chosen_cells=
    for name in ${1//,/ }; do
        [[ $name =~ ^[a-z0-9-]+$ ]] && chosen_cells+=$(cells_called "$name")$'\n' ||
            bad_usage "--cells $name: default, all, OP-PATTERN-SIZE-CxD (see" \
                "--help) or one of these is needed:" \
                "$(awk 'NF { printf "%s ", $1 }' <<<"$default_cells")"
    done
    chosen_cells=$(awk 'NF && !seen[$1]++' <<<"$chosen_cells")
    test -n "$chosen_cells" || bad_usage "--cells: none are named"
}
