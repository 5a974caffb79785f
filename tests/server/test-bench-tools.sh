#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the benchmarks rest on: nbd-load replays a trace as it was recorded and
# says which line of a bad one is wrong; `make bench-compare' tells a ratio that
# got worse by more than 10%.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdcopy

nbd_load=$abs_top_builddir/bench/nbd-load
bench=$abs_top_srcdir/bench
pages=$tmp/pages
trace=$tmp/trace
"$zspage_pages" generate --kind text --pages 8 --seed 1 "$pages" >/dev/null

# --- Traces that are wrong.  No server is asked for that.

# Usage: expect_bad_trace REGEX LINE...
expect_bad_trace ()
{
    local regex=$1

    shift
    printf '# op\toffset\tlength\tin_flight\n' >"$trace"
    printf '%b\n' 'read\t0\t4096\t1' "$@" >>"$trace"
    expect_fails "$nbd_load" --uri nbd://nowhere.invalid --pages "$pages" \
        --replay "$trace" 2>"$tmp/said"
    expect_match "$*" "$(cat "$tmp/said")" "$trace: $regex"
}

expect_bad_trace "line 3: op 'erase': read, write, trim or flush" \
    'erase\t0\t4096\t1'
expect_bad_trace "line 4: offset '100': a multiple of 512 from 0" \
    '# a comment' 'write\t100\t4096\t1'
expect_bad_trace "line 3: offset '-512': a multiple of 512" 'read\t-512\t512\t1'
expect_bad_trace "line 3: offset '18446744073709551616'" \
    'read\t18446744073709551616\t512'
expect_bad_trace "line 3: length '0': a multiple of 512 from 512 to 2097152" \
    'read\t0\t0\t1'
expect_bad_trace "line 3: length '2097664'.* to 2097152 " 'write\t0\t2097664\t1'
expect_bad_trace "line 3: length '4096x'" 'write\t0\t4096x\t1'
expect_bad_trace "line 3: length '512': .* from 0 to 0" 'flush\t0\t512\t1'
expect_bad_trace "line 3: in_flight '0': .* from 1" 'read\t0\t512\t0'
expect_bad_trace "line 3: 2 of the fields op, offset and length" 'read\t0'
expect_bad_trace "line 3: 1 of the fields" 'read 0 4096 1'
expect_bad_trace "line 3: a zero byte" 'read\t0\t4096\t1\0'
echo '# only a comment' >"$trace"
expect_fails "$nbd_load" --uri nbd://nowhere.invalid --replay "$trace" \
    2>"$tmp/said"
expect_match "an empty trace" "$(cat "$tmp/said")" "no request in it"

# --- A replay.

# Usage: replay [NBD-LOAD-OPTION...]
replay ()
{
    "$nbd_load" --uri "$uri" --pages "$pages" --replay "$trace" "$@" \
        >"$tmp/replayed"
}

verify ()
{
    "$nbd_load" --uri "$uri" --pages "$pages" --op verify --pattern sequential \
        --span 64K 2>"$tmp/said"
}

# All of 64 KiB in odd pieces, one of them across the end of the pages at 32 KiB;
# and 2 MiB, many times as long as all of the pages.
printf '%b\n' '# op\toffset\tlength' \
    'write\t0\t512\t1' 'write\t512\t4608\t1' 'write\t5120\t23552\t2' \
    'write\t28672\t8704\t1' 'trim\t1048576\t2097152\t1' 'flush\t0\t0\t1' \
    'read\t1024\t1536\t1' 'write\t37376\t28160\t3' \
    'write\t2097152\t2097152\t1' >"$trace"
for depth in 1 4; do
    start_zspage 64M
    ../nbd-do "$uri" "write 1M 2M 0x77"
    expect_fails verify
    replay --depth "$depth"
    expect "requests" "$(cut -f 6 "$tmp/replayed")" -eq 9
    verify >/dev/null
    ../nbd-do "$uri" "read 1M 1M 0"
    cmp <(for ((i = 0; i < 64; i++)); do cat "$pages"; done) \
        <(nbdcopy "$uri" - | tail -c +2097153 | head -c 2097152) ||
        die "2 MiB were not written as they should be"
    replay --depth "$depth" --requests 20
    expect "requests" "$(cut -f 6 "$tmp/replayed")" -eq 20
done

start_zspage 1M
expect_fails replay 2>"$tmp/said"
expect_match "a small device" "$(cat "$tmp/said")" \
    "needs a device of 4194304 bytes, this one has 1048576"

# --- Ratios that got worse.

# Figures of three rounds in which we are RATE times as fast as null and take CPU
# times its time; from a machine that is SPEED times as fast.
# Usage: figures RATE CPU SPEED
figures ()
{
    awk -v OFS='\t' -v rate="$1" -v cpu="$2" -v speed="$3" 'BEGIN {
        print "round", "server", "cell", "op", "size", "iops", "MBps",
            "server_cpu_us_per_op", "server_cpu_us_per_4k"
        for (r = 1; r <= 3; r++) {
            v = 100000 * speed * (1 + r / 10)
            print r, "null", "read-4k", "read", 4096, v, v / 256, 10, 10 / speed
            print r, "zspage", "read-4k", "read", 4096, v * rate, v * rate / 256,
                10, 10 / speed * cpu
        }
    }'
}

# Usage: expect_compared STATUS REGEX RATE CPU
expect_compared ()
{
    local status=0

    figures 0.8 1.5 1 >"$tmp/base.tsv"
    figures "$3" "$4" 1.7 >"$tmp/new.tsv"
    "$bench/compare" "$tmp/base.tsv" "$tmp/new.tsv" >"$tmp/said" || status=$?
    expect "status of rate $3, CPU $4" "$status" -eq "$1"
    expect_match "rate $3, CPU $4" "$(cat "$tmp/said")" "$2"
}

expect_compared 0 '^0 of 2 ratios' 0.8 1.5
expect_compared 0 '^0 of 2 ratios' 0.728 1.635 # 9% worse
expect_compared 1 'null +rate .*-11.0%  WORSE' 0.712 1.5
expect_compared 1 'null +CPU .*\+11.0%  WORSE' 0.8 1.665
expect_compared 0 '^0 of 2 ratios' 1.6 0.5 # better

# Usage: expect_refused ARG...
expect_refused ()
{
    local status=0

    "$bench/compare" "$@" >"$tmp/said" 2>&1 || status=$?
    expect "status of compare $*" "$status" -eq 2
}

expect_refused "$tmp/base.tsv"
expect_refused "$tmp/base.tsv" "$tmp/missing.tsv"
expect_refused "$tmp/base.tsv" "$trace"
sed s/read-4k/other/ "$tmp/base.tsv" >"$tmp/other.tsv"
expect_refused "$tmp/base.tsv" "$tmp/other.tsv"

# --- Command lines of the programs that need no server.

# Usage: expect_usage STATUS REGEX PROGRAM ARG...
expect_usage ()
{
    local wanted=$1 regex=$2 program=$3 status=0

    shift 3
    "$abs_top_builddir/bench/$program" "$@" >"$tmp/said" 2>&1 || status=$?
    expect "status of $program $*" "$status" -eq "$wanted"
    expect_match "$program $*" "$(cat "$tmp/said")" "$regex"
}

for program in bare-codec compact-bench engine-bench growth-bench layout-bench \
    recover-bench scaling-bench scaling-model; do
    expect_usage 0 "^usage: $program " $program --help
    expect_usage 2 "unrecognized option" $program --bogus
done
expect_usage 2 "CHAIN_SIZE: '3': .* from 4 to 16" compact-bench 3
expect_usage 2 "SEED: 'x'" compact-bench 8 x
expect_usage 2 "--rounds: '0': .* from 1 to 100" engine-bench --rounds 0 "$pages"
expect_usage 2 "--rounds: '-1': .* from 1 to 100" growth-bench --rounds -1 "$pages"
expect_usage 2 "--pages: '9': .* from 100000 to" growth-bench --pages 9 "$pages"
expect_usage 2 "PAGES: '5x': .* from 1 to" recover-bench "$tmp" 5x
expect_usage 2 "THREADS: '65': .* from 1 to 64" scaling-bench "$pages" 65
expect_usage 2 "--stripes: '7': .* from 8 to 65536" \
    scaling-model --stripes 7 "$pages"
expect_usage 2 "--ops: 'x'" scaling-model --ops x "$pages"
for program in layout-bench scaling-bench engine-bench; do
    expect_usage 2 "usage: $program" $program
    expect_usage 1 "$tmp/missing" $program "$tmp/missing"
done
