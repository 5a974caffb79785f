#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# state=: directories and files that will not do are refused, with a reason, and
# are left as they are; a tmpfs that is full is told at the start, and then writes
# fail that need more, and nothing is lost.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
# What others can open is refused for that.
umask 077
make_state_dir

# A server is refused, and the file stays what it is.  Usage: refused_file REGEX ARG...
refused_file ()
{
    cp -a --sparse=always "$file" "$tmp/copy"
    expect_refused "$1" state="$state_dir" "${@:2}"
    cmp "$file" "$tmp/copy" || die "$1: the file was changed"
    expect "files" "$(find "$state_dir" -type f | wc -l)" -eq 1
}

# Overwrite bytes of the file.  Usage: poke OFFSET FORMAT-OF-PRINTF
poke ()
{
    # shellcheck disable=SC2059
    printf "$2" | dd of="$file" bs=1 seek="$1" conv=notrunc status=none
}

# --- Options.

expect_refused 'state=: a directory is needed' 64M state=
expect_refused 'state_on_disk=true: is of the directory that state= names' \
    64M state_on_disk=true
expect_refused "state=.*: is of the whole server, so it must come before the first device=" \
    64M device=a state="$state_dir"
expect_refused "state_on_disk=true: is of the whole server" \
    64M state="$state_dir" device=a state_on_disk=true

# --- Directories.

: >"$tmp/file"
expect_refused "state=$tmp/file: it is not a directory" 64M state="$tmp/file"
# With a preloaded sanitizer nbdkit hangs after an error that has the text of an
# errno in it.
if test "$sanitizer" = no; then
    expect_refused "state=$tmp/missing: No such file or directory" \
        64M state="$tmp/missing"
fi
if test "$(stat -f -c %T "$tmp")" != tmpfs; then
    mkdir "$tmp/disk"
    expect_refused "state=$tmp/disk: it is not on a tmpfs.*state_on_disk=true" \
        64M state="$tmp/disk"
    expect "files" "$(find "$tmp/disk" -type f | wc -l)" -eq 0
    for ((i = 0; i < 2; i++)); do
        start_zspage 4M state="$tmp/disk" state_on_disk=true
        test $i -eq 1 || ../nbd-do "$uri" "write 0 1M text:1"
        ../nbd-do "$uri" "read 0 1M text:1" "read 1M 3M 0"
    done
    stop_server
else
    echo "$tmp is on a tmpfs: nothing on a disk was tried"
fi

# --- Files.

file=$state_dir/default.zspage
echo foreign >"$file"
refused_file "default.zspage: it is not a state file" 8M
: >"$file"
refused_file "default.zspage: it is not a state file" 8M
rm "$file"

start_zspage 8M state="$state_dir"
../nbd-do "$uri" "write 0 1M text:1"
stop_server
cp --sparse=always "$file" "$tmp/good"

# Usage: good; with the file as it was when it was closed
good ()
{
    rm -f "$file"
    cp --sparse=always "$tmp/good" "$file"
    chmod 600 "$file"
}

refused_file "of a device of 8388608 bytes, and disksize is 4194304; say disksize=8388608" \
    4M
truncate -s -4096 "$file"
refused_file "default.zspage: it has [0-9]+ bytes, and its header says" 8M
truncate -s 4096 "$file"
refused_file "default.zspage: it has 4096 bytes, and its header says" 8M
truncate -s 50 "$file"
refused_file "default.zspage: its header is damaged" 8M
good
poke 8 '\002'
refused_file "default.zspage: it has version 2; this server reads 1" 8M
good
poke 32 '\377'
refused_file "default.zspage: its header is damaged: the checksum is wrong" 8M
good
poke 0 '10EGAPSZ'
refused_file "default.zspage: it was made by a machine of the other byte order" \
    8M

good
chmod 644 "$file"
refused_file "default.zspage: others may open it, as its mode is 0644; 0600 is right" \
    8M

# One bad file ends the server before it has another device.
good
mv "$file" "$state_dir/b.zspage"
file=$state_dir/b.zspage
poke 0 X
expect_refused "device b: .*b.zspage: it is not a state file" state="$state_dir" 8M \
    device=a device=b
rm "$state_dir"/*
file=$state_dir/default.zspage

good
mv "$file" "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$file"
expect_refused "default.zspage: it is a symbolic link" 8M state="$state_dir"
cmp "$tmp/elsewhere" "$tmp/good" || die "the file was changed"
rm "$file"
mkfifo "$file"
expect_refused "default.zspage: it is not a regular file" 8M state="$state_dir"
rm "$file"
mkdir "$file"
if test "$sanitizer" = no; then
    expect_refused "default.zspage: Is a directory" 8M state="$state_dir"
fi
rmdir "$file"

good
start_zspage 8M state="$state_dir"
../nbd-do "$uri" "read 0 1M text:1" "read 1M 7M 0"
stop_server

# --- A tmpfs that is full, in a mount namespace of its own.

test "$(id -u)" -eq 0 || {
    echo "not root: no tmpfs was filled"
    exit 0
}
unshare -m true 2>/dev/null || {
    echo "unshare -m does not work here: no tmpfs was filled"
    exit 0
}
mkdir "$tmp/small"
nbdkit=(unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"'
        "$tmp/small" "${nbdkit[@]}")
start_zspage 64M state="$tmp/small"
grep -Eq "state=$tmp/small: there is room for [34] MiB, and the devices may use [0-9]+ MiB.*writes fail with ENOSPC" \
    "$server_log" || die "it does not warn: $(cat "$server_log")"
../nbd-do "$uri" "write 0 1M text:1"
full=$(../nbd-do "$uri" "until ENOSPC each 64K write 4M 16M random:2")
echo "$full bytes that do not compress were written to a tmpfs of 4 MiB"
expect "bytes written" "$full" -ge $((2 * MIB))
../nbd-do "$uri" "read 0 1M text:1" "read 4M $full random:2" \
    "fails ENOSPC write 40M 1M random:3" "read 0 1M text:1" \
    "read 4M $full random:2"
# What is there can be written again, and what is trimmed can be used.
../nbd-do "$uri" "each 4K write 0 1M text:4" "read 0 1M text:4" \
    "trim 4M 1M" "write 50M 512K random:5" "read 50M 512K random:5"
