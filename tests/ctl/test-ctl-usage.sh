#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is asked wrongly gets status 2 and a way out; help needs no server.

. "${0%/*}/ctl.sh"
export ZSPAGE_STATS=/nonexistent/socket

for arg in --help -h; do
    expect_status 0 "$arg"
    for word in list show get set compact idle reset classes watch estimate help \
        --socket --output --output-all --bytes --noheadings --raw --json --yes \
        --interval --count --pid --file --max-pages --help --version \
        NAME DISKSIZE DATA COMPR TOTAL RATIO MEM-LIMIT MEM-USED MIGRATED \
        mm_stat mem_used_max; do
        grep -Eq "^ *(-., )?$word([ =]|\$)" "$tmp/out" ||
            die "--help lacks $word"
    done
    grep -q 'Uncompressed data' "$tmp/out"
    grep -q 'Real memory' "$tmp/out"
    expect "longest line" "$(awk '{ if (length > n) n = length }
        END { print n }' "$tmp/out")" -lt 81
done
zspagectl --help >"$tmp/all-help"
expect_status 0 help
cmp "$tmp/out" "$tmp/all-help" || die "help and --help are not the same"
for verb in list show get set compact idle reset classes watch estimate help; do
    expect_status 0 "$verb" --help
    expect_match "help" "$(head -n 1 "$tmp/out")" "^Usage: zspagectl $verb"
    cp "$tmp/out" "$tmp/verb-help"
    expect_status 0 help "$verb"
    cmp "$tmp/out" "$tmp/verb-help" || die "help $verb and $verb --help differ"
done
expect_failure 2 'nosuch: no such verb' help nosuch
expect_failure 2 'usage: zspagectl help' help list list
expect_status 0 --version
expect_match "version" "$(cat "$tmp/out")" '^zspagectl \(nbdkit-zspage\) [0-9]'

expect_failure 2 'nosuch: no such verb' nosuch
expect_failure 2 'tells how it is used' --nosuch
expect_failure 2 'tells how it is used' --output
expect_failure 2 'usage: zspagectl get' get default
expect_failure 2 'usage: zspagectl get' get default mm_stat more
expect_failure 2 'usage: zspagectl set' set default mem_limit
expect_failure 2 'usage: zspagectl reset' reset
expect_failure 2 'usage: zspagectl idle' idle
expect_failure 2 'usage: zspagectl classes' classes
expect_failure 2 'list: takes no --yes' --yes
expect_failure 2 'get: takes no --json' get default mm_stat --json
expect_failure 2 'watch: takes no --json' watch --json
expect_failure 2 'estimate: takes no --socket' estimate -s x --file y
expect_failure 2 '--pid or --file is needed' estimate
expect_failure 2 '--pid or --file, not both' estimate --pid 1 --file x
for pid in 0 0x10 -1 +1 ' 1' 1x ''; do
    expect_failure 2 "--pid=.*: the number of a process" estimate --pid "$pid"
done
expect_failure 2 '--max-pages=x: a number' estimate --file x --max-pages x
