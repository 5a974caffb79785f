#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# estimate says what auto makes of pages once it has recompressed them: less
# than lz4 takes, with dictionaries less than any zstd; and never more than lz4
# but for the dictionary.

# What jq is to expand stands in single quotes.
# shellcheck disable=SC2016

. "${0%/*}/ctl.sh"

# What a server trains on: from 2048 compressed pages on.
nr=$(pick 8000 3000 2500)
dictionary=$((256 * 1024))

# Usage: estimate KIND NR
estimate ()
{
    "$zspage_pages" generate --kind="$1" --seed=1 --pages="$2" "$tmp/pages" \
        >/dev/null
    expect_status 0 estimate --file "$tmp/pages" --json
}

# Usage: expect_of_auto WHAT CONDITION
# Of the rows $lz4, $zstd (that of the highest level) and $auto.
expect_of_auto ()
{
    jq -e --argjson dictionary "$dictionary" '.estimates as $all |
        ($all[] | select(.algorithm == "lz4")) as $lz4 |
        ($all | map(select(.algorithm == "zstd")) | last) as $zstd |
        ($all[] | select(.algorithm == "auto")) as $auto | '"$2" \
        "$tmp/out" >/dev/null || die "$1: $(cat "$tmp/out")"
}

# They have much in common.
estimate text "$nr"
expect_of_auto "less memory" '$auto.memory < $lz4.memory * 0.7'
expect_of_auto "a dictionary" '$auto.memory < $zstd.memory * 0.95'
expect_of_auto "the same pages" '$auto.data == $lz4.data and
    $auto.same_pages == $lz4.same_pages'
expect_of_auto "no level" '$auto.level == null'
expect_of_auto "work later" '$auto.later_us > 0 and
    all($all[] | select(.algorithm != "auto"); .later_us == 0)'

# Too few of them to train on, so that zstd has to do it alone.
estimate text 500
expect_of_auto "less memory of few" '$auto.memory < $lz4.memory * 0.9'

# Some of these gain, and the holes that they leave are closed.
estimate mixed "$nr"
expect_of_auto "mixed: less memory" '$auto.memory < $lz4.memory * 0.95'
expect_of_auto "no holes" '$auto.memory < $zstd.memory * 1.05'

# With nothing to gain it costs nothing but the dictionary.
for kind in incompressible same-filled; do
    estimate "$kind" "$nr"
    expect_of_auto "$kind: not more memory" \
        '$auto.memory <= $lz4.memory + $dictionary'
done
