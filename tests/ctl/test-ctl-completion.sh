#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion in bash offers verbs, options, columns, attributes, and devices of
# the server that is asked.

. "${0%/*}/ctl.sh"

start_zspage_stats disksize=64M device=one device=two
PATH=$abs_top_builddir/ctl:$PATH
unset -f zspagectl
# It is for interactive shells, which do without these.
set +eu
compopt ()
{
    :
}
. "$abs_top_srcdir/contrib/bash-completion/zspagectl"

# Usage: expect_completion EXPECTED WORD...
# The last word is what is completed.  Expected is some of the answers.
expect_completion ()
{
    local expected=$1 word

    shift
    COMP_WORDS=(zspagectl "$@")
    COMP_CWORD=$#
    _zspagectl
    for word in $expected; do
        [[ " ${COMPREPLY[*]} " = *" $word "* ]] ||
            die "$*: expected $word in: ${COMPREPLY[*]}"
    done
}

# The same, and no others.
expect_only ()
{
    expect_completion "$@"
    expect "number of completions of ${*:2}: ${COMPREPLY[*]}" \
        "${#COMPREPLY[@]}" -eq "$(wc -w <<<"$1")"
}

expect_only "list show get set compact recompress dictionary idle reset state check classes watch estimate help" ''
expect_only "compact check classes" c
expect_only "--socket=" --s
expect_completion "--json --help --output=" -
expect_completion "--interval= --count=" watch --
expect_only "--pid=" estimate --p
expect_only "one two" show ''
expect_only "one two" show one ''
expect_only "two" get t
expect_only "one two" --bytes show -b ''
expect_only "mm_stat mem_limit" get one m
expect_only "mem_limit mem_used_max" set one m
expect_only "" set one mem_limit ''
expect_only "" get one mm_stat ''
expect_only "show set state" help s
expect_only "MEM-LIMIT MEM-META MEM-DICT MEM-USED MEM-RESERVE MEM-RESIDENT
    MEM-FREEABLE" --output MEM-
expect_only "NAME,DATA,COMPR" --output = NAME,DATA,CO
export ZSPAGE_STATS=/nonexistent
expect_only "" show ''
expect_only "one two" --socket "$stats" show ''
expect_only "one two" --socket = "$stats" show ''
expect_only "one two" --socket unix : "$stats" show ''
expect_only "one two" -s = unix : "$stats" get ''
set -eu
