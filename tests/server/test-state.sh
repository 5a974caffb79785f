#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# state=DIR: each device is in a file of its own, which the next server goes on
# with, whatever its other options are; only one server has a file.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires nbdinfo jq
make_state_dir

# Usage: expect_said REGEX; of the server
expect_said ()
{
    grep -Eq -- "$1" "$server_log" ||
        die "the server does not say '$1': $(cat "$server_log")"
}

expect_files ()
{
    expect "files" "$(cd "$state_dir" && find . -type f | sort | xargs)" = "$*"
}

# Start over.
forget ()
{
    stop_server
    rm -f -- "$state_dir"/*
}

verify_pages ()
{
    "$zspage_pages" verify "$uri" "$tmp/pages" >"$tmp/said" 2>&1 ||
        die "$(cat "$tmp/said")"
}

has_ended ()
{
    ! is_running "$1"
}

server=(state="$state_dir" 64M)
some=("write 0 1M text:1" "write 1M 64K random:2" "write 2M 64K 0x55"
      "write 3M 100 text:3")
same=("read 0 1M text:1" "read 1M 64K random:2" "read 2M 64K 0x55"
      "read 3M 100 text:3" "read 4M 60M 0")

# One that ends as it should, and one that does not.
start_zspage "${server[@]}"
expect_files ./default.zspage
expect "mode" "$(stat -c %a "$state_dir/default.zspage")" = 600
! grep -q recovered "$server_log" || die "new: $(cat "$server_log")"
../nbd-do "$uri" "${some[@]}"
start_zspage "${server[@]}"
expect_said 'device default: 289 pages recovered in [0-9]+ ms; the file was closed$'
../nbd-do "$uri" "${same[@]}"
killed=$server_pid
kill_nbdkit
start_zspage "${server[@]}"
expect_said "device default: 289 pages recovered in [0-9]+ ms; the file was not closed \(by process $killed\)\$"
../nbd-do "$uri" "${same[@]}"

# A second one, while the first lives.
expect_refused "device default: $state_dir/default.zspage: process $server_pid has it open" \
    "${server[@]}"
start_zspage_daemon "${server[@]}"
expect_said 'default: 289 pages recovered in [0-9]+ ms; the file was closed'
test "$(cut -d ' ' -f 4 "/proc/$server_pid/stat")" -ne $$ ||
    die "the server did not fork"
expect_refused "default.zspage: process $server_pid has it open" "${server[@]}"
../nbd-do "$uri" "${same[@]}"
killed=$server_pid
kill -KILL "$server_pid"
wait_until 10 has_ended "$server_pid" || die "the server is not killed"
server_pid=
start_zspage "${server[@]}"
expect_said "the file was not closed \(by process $killed\)\$"
../nbd-do "$uri" "${same[@]}"

# What it was made with stays.
start_zspage "${server[@]}" zspage_chain_size=4 checksum=true
expect_said 'device default: .*default.zspage was made with zspage_chain_size=8, which stays so until it is removed'
expect_said 'device default: .*default.zspage was made with checksum=false, which stays so until it is removed'
../nbd-do "$uri" "${same[@]}"
start_zspage "${server[@]}"
expect_said 'device default: 289 pages recovered'
! grep -q 'made with' "$server_log" || die "as it was: $(cat "$server_log")"
forget
start_zspage "${server[@]}" checksum=true zspage_chain_size=16
../nbd-do "$uri" "${some[@]}"
start_zspage "${server[@]}"
expect_said 'was made with checksum=true'
expect_said 'was made with zspage_chain_size=16'
../nbd-do "$uri" "${same[@]}"

# Pages that other algorithms compressed, with dictionaries too.
forget
pages=$(pick 4000 1000 500)
"$zspage_pages" generate --kind=mixed --seed=1 --pages="$pages" "$tmp/pages" \
    >/dev/null
start_with_stats "${server[@]}" comp_algorithm=auto
"$zspage_pages" store "$uri" "$tmp/pages" >/dev/null 2>&1
put /devices/default/dictionary train
put /devices/default/recompress ""
zstd=$(figure compression zstd_pages)
expect "pages that zstd compressed" "$zstd" -gt 0
start_with_stats "${server[@]}" comp_algorithm=lz4
expect "pages that zstd compressed" "$(figure compression zstd_pages)" -eq "$zstd"
verify_pages
../nbd-do "$uri" "write 60M 1M text:5"
start_with_stats "${server[@]}" comp_algorithm=zstd
verify_pages
../nbd-do "$uri" "read 60M 1M text:5" "write 61M 1M text:6"
start_with_stats "${server[@]}" comp_algorithm=lz4
verify_pages
../nbd-do "$uri" "read 60M 1M text:5" "read 61M 1M text:6"

# Devices, and one that is no longer configured.
forget
start_zspage "${server[@]}" device=a device=b disksize=32M
expect_files ./a.zspage ./b.zspage
../nbd-do "$(export_uri a)" "${some[@]}"
../nbd-do "$(export_uri b)" "write 0 1M text:8"
start_zspage "${server[@]}" device=b disksize=32M
expect_said 'there is a file of device a, which is not configured; its memory is not given back until it is removed'
../nbd-do "$(export_uri b)" "read 0 1M text:8" "read 1M 31M 0"
start_zspage "${server[@]}" device=b disksize=32M device=a
expect_said 'device a: 289 pages recovered'
expect_said 'device b: 256 pages recovered'
../nbd-do "$(export_uri a)" "${same[@]}"
../nbd-do "$(export_uri b)" "read 0 1M text:8" "read 1M 31M 0"

# Devices that are made on demand are there before anybody asks again.
forget
on_demand=("${server[@]}" on_demand=true)
start_zspage "${on_demand[@]}"
expect_files ""
for name in vm1 vm2 vm.3; do
    ../nbd-do "$(export_uri $name)" "${some[@]}"
done
start_zspage "${on_demand[@]}"
expect "the list" "$(nbdinfo --list --json "$uri" |
    jq -r '.exports[]["export-name"]' | grep '^vm' | sort | xargs)" \
    = "vm.3 vm1 vm2"
kill_nbdkit
start_zspage "${on_demand[@]}"
for name in vm1 vm2 vm.3; do
    expect_said "device $name: 289 pages recovered"
    ../nbd-do "$(export_uri $name)" "${same[@]}"
done
stop_server
# What is too many is left alone, and does not keep the others away.
start_zspage "${on_demand[@]}" max_devices=2
expect_said 'there are files of more devices than max_devices=2; [a-z0-9.]+ is left alone'
stop_server

# Without it there is no file.
forget
mkdir "$tmp/home"
export TMPDIR=$tmp/home
cd "$tmp/home" || die "no directory"
start_zspage 64M
"$abs_top_builddir/tests/nbd-do" "$uri" "${some[@]}"
memfd_bytes >/dev/null
stop_server
expect "files" "$(find "$tmp/home" -type f | wc -l)" -eq 0
expect_files ""
