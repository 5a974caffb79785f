#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every bad option ends nbdkit with an error that says what was given and what
# is allowed.

. ./functions.sh

# Usage: bad GIVEN ALLOWED ARG...
# The last line of the error must contain GIVEN and then ALLOWED.
bad ()
{
    local given=$1 allowed=$2 status=0 said
    shift 2

    run_nbdkit -f -U - "$plugin" "$@" --run true >"$tmp/said" 2>&1 ||
        status=$?
    said=$(grep '^nbdkit: ' "$tmp/said" | tail -n 1)
    test "$status" -eq 1 ||
        die "nbdkit zspage $*: exit status $status: $said"
    case $said in
        "nbdkit: error: "*"$given"*"$allowed"*) ;;
        *) die "nbdkit zspage $*: says '$said', without '$given', '$allowed'" ;;
    esac
}

bad "size of the device is missing" "nbdkit zspage 4G"
bad "size of the device is missing" "nbdkit zspage 4G" mem_limit=1G
bad "unknown parameter 'foo'" "--help lists them" 1G foo=1
bad "unknown parameter 'Disksize'" "--help lists them" Disksize=1G

for size in 0 17T 16385G; do
    bad "disksize=$size:" "from 1 to 17592186044416 bytes" disksize=$size
    bad "disksize=$size:" "from 1 to 17592186044416 bytes" $size
done
for size in -1 x 1.5G 1GB '1 G' '' 99999999999999999999; do
    bad "disksize=$size:" "such as 512M or 4G" "disksize=$size"
    bad "mem_limit=$size:" "such as 512M or 4G" 1G "mem_limit=$size"
    bad "ahead=$size:" "such as 512M or 4G" 1G "ahead=$size"
done
bad "ahead=2G:" "at most 1073741824 bytes (1G), or 0" 1G ahead=2G

for algorithm in '' gzip LZ4 lz4hc lz4,zstd 'lz4 '; do
    bad "comp_algorithm=$algorithm:" "allowed: auto, lz4, zstd" \
        1G "comp_algorithm=$algorithm"
done

numbers=('' 0 3 17 -1 -4294967288 x 8x)
# With a preloaded sanitizer nbdkit itself, with any plugin, hangs after an error
# that has the text of an errno in it, waiting for a lock of setlocale's.
test "$sanitizer" != no || numbers+=(4294967304)
for n in "${numbers[@]}"; do
    bad "zspage_chain_size=$n:" "from 4 to 16" 1G "zspage_chain_size=$n"
done

for params in foo level Level=1 level:1 =; do
    bad "'$params'" "allowed: level=NUMBER" 1G "algorithm_params=$params"
done
bad "'x'" "allowed: level=NUMBER" 1G "algorithm_params=level=1 x"
bad "'dict='" "allowed: level=NUMBER, dict=FILE" 1G "algorithm_params=dict="

# Dictionaries that are none.
head -c 300000 /dev/zero >"$tmp/huge"
head -c 4096 /dev/urandom >"$tmp/foreign"
head -c 100 /dev/urandom >"$tmp/short"
{
    # The magic and an ID, and then nonsense.
    printf '\067\244\060\354\001\000\000\000'
    head -c 4000 /dev/urandom
} >"$tmp/damaged"
: >"$tmp/empty"
mkfifo "$tmp/fifo"
mkdir "$tmp/folder"
files=("huge:262144 are allowed" "foreign:not a dictionary of zstd"
    "short:100 bytes are too short" "empty:0 bytes are too short"
    "damaged:damaged")
# As above.
test "$sanitizer" != no || files+=("fifo:cannot be read"
    "missing:No such file" "folder:cannot be read")
for algorithm in zstd auto; do
    for how in "${files[@]}"; do
        bad "/${how%%:*}" "${how#*:}" 1G "comp_algorithm=$algorithm" \
            "algorithm_params=dict=$tmp/${how%%:*}"
    done
done
bad "lz4 takes no dictionary" "zstd and auto do" \
    1G comp_algorithm=lz4 "algorithm_params=dict=$tmp/foreign"
for n in 101 -1 x ''; do
    bad "recompress_cpu" "" 1G "recompress_cpu=$n"
done
bad "whole server" "before the first device" 1G device=a recompress_cpu=5

for n in '' x 1x 1.5 0x10 99999999999999999999 4294967297; do
    bad "level=$n:" "whole number" 1G "algorithm_params=level=$n"
done
for n in 0 -1 65538; do
    bad "level=$n:" "lz4 takes 1 to 65537" 1G "algorithm_params=level=$n"
done
for n in 23 -131073; do
    bad "level=$n:" "zstd takes -131072 to 22" \
        1G comp_algorithm=zstd "algorithm_params=level=$n"
    # The order of the options does not matter.
    bad "level=$n:" "zstd takes -131072 to 22" \
        1G "algorithm_params=level=$n" comp_algorithm=zstd
done
