# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the scripts of this folder share: guests in QEMU, which swap to servers
# of this build.  Each starts with `. "${srcdir:-.}/qemu.sh"'.
#
# A guest is Debian's kernel with an initramfs of busybox, guest.sh and what the
# test adds, so that little but the test uses its memory.  What is in it stays
# in memory (ramfs), so that the hog is what is swapped.  Its second serial line
# is how it and the test talk.
#
# ZSPAGE_QEMU_KERNEL is 6.1, which is usual, or 6.12.
# ZSPAGE_QEMU_ACCEL is kvm:tcg unless it is set: KVM where that works.

# What is set here the tests use.
# shellcheck disable=SC2034

# shellcheck source=SCRIPTDIR/../server/server.sh
. "${srcdir:-.}/../server/server.sh"

qemu_kernel=${ZSPAGE_QEMU_KERNEL:-6.1}
qemu_accel=${ZSPAGE_QEMU_ACCEL:-kvm:tcg}
guest_script=$abs_top_srcdir/tests/qemu/guest.sh
hog=$abs_top_builddir/tests/qemu/hog

# The hog of most tests, in MiB, and the memory of its guest.
hog_mib=224
guest_mib=192

# --- Servers, of which there can be several.

declare -A server_pids=()
# Set where a server must not end with the test, nor by signals to its group.
# Even without --exit-with-parent, nbdkit in the foreground may end with its
# parent, so that is to be init.
serve_apart=

# Start nbdkit with the plugin of this build, on a unix socket or, with --tcp,
# on a port of the loopback address.  Usage: serve NAME [--tcp] ARG...
# Its files are $tmp/NAME.sock, NAME.stats and NAME.requests.
serve ()
{
    local name=$1 listen=(-U "$tmp/$1.sock") run=("${nbdkit[@]}" -f) i
    shift

    if test "$1" = --tcp; then
        listen=(-i 127.0.0.1 -p 0)
        shift
    fi
    if test -n "$serve_apart"; then
        run=(setsid -f "${run[@]}")
    else
        run+=(--exit-with-parent)
    fi
    rm -f "$tmp/$name.pid" "$tmp/$name.sock" "$tmp/$name.stats"
    "${run[@]}" -P "$tmp/$name.pid" "${listen[@]}" --filter=log \
        "$plugin" "stats=unix:$tmp/$name.stats" "$@" \
        "logfile=$tmp/$name.requests" logappend=true \
        </dev/null >>"$tmp/server-$name.log" 2>&1 &
    server_pids[$name]=$!
    for ((i = 0; i < ready_seconds * 50; i++)); do
        if test -s "$tmp/$name.pid"; then
            server_pids[$name]=$(cat "$tmp/$name.pid")
            at_end_kill "${server_pids[$name]}"
            return 0
        fi
        test -n "$serve_apart" || kill -0 "${server_pids[$name]}" 2>/dev/null ||
            break
        sleep 0.02
    done
    cat "$tmp/server-$name.log"
    die "the server $name did not start"
}

# The port of a server that was started with --tcp.
server_port ()
{
    listening_ports "${server_pids[$1]}"
}

# Kill a server, as the OOM killer would.
kill_server ()
{
    kill -KILL "${server_pids[$1]}"
    wait "${server_pids[$1]}" 2>/dev/null || :
    unset "server_pids[$1]"
}

# End all servers, which must end well, and print their logs.
stop_servers ()
{
    local name status

    for name in "${!server_pids[@]}"; do
        kill -TERM "${server_pids[$name]}"
        status=0
        wait_for "${server_pids[$name]}" "$stop_seconds" || status=$?
        expect "the exit status of server $name" "$status" -eq 0
        if test -s "$tmp/server-$name.log"; then
            sed "s/^/$name: /" "$tmp/server-$name.log"
        fi
    done
    server_pids=()
}

# Print a device's mm_stat.  Usage: mm_line SERVER [DEVICE]
mm_line ()
{
    stats=$tmp/$1.stats
    attr mm_stat "${2:-default}"
}

# Usage: show_mm MOMENT SERVER [DEVICE]
show_mm ()
{
    printf 'mm_stat %-16s %s\n' "$1" "$(mm_line "$2" "${3:-default}")"
}

# What clients asked of a server, and in which sizes.
# Usage: show_requests SERVER [EXPORT]
show_requests ()
{
    awk -v server="$1${2:+ $2}" -v want="${2-*}" '
        function value(key,    i) {
            for (i = 1; i <= NF; i++)
                if (index ($i, key "=") == 1)
                    return substr ($i, length (key) + 2)
        }
        function number(hex,    n, i) {
            n = 0
            hex = tolower (hex)
            for (i = 3; i <= length (hex); i++)
                n = n * 16 + index ("0123456789abcdef", substr (hex, i, 1)) - 1
            return n
        }
        function bucket(n,    b) {
            if (n < 4096) return 0
            for (b = 1; b < 11 && n > 4096 * 2 ^ (b - 1); b++);
            return b
        }
        {
            for (i = 1; i <= NF && $i !~ /^connection=/; i++);
            connection = $i
            command = $(i + 1)
        }
        command == "Connect" {
            name = value ("export")
            gsub (/["\047]/, "", name)
            ours[connection] = want == "*" || name == want
        }
        !ours[connection] { next }
        /count=/ {
            sub (/^\.\.\./, "", command)
            n = number (value ("count"))
            b = bucket (n)
            nr[command]++
            bytes[command] += n
            size[command, b]++
        }
        command == "Flush" { nr[command]++ }
        END {
            split ("4K 8K 16K 32K 64K 128K 256K 512K 1M 2M more", names, " ")
            split ("Read Write Trim Zero Flush", commands, " ")
            for (c = 1; c <= 5; c++) {
                command = commands[c]
                if (!nr[command])
                    continue
                printf "requests %s: %s %d, %.1f MiB:", server, command,
                    nr[command], bytes[command] / 1048576
                for (b = 0; b <= 11; b++)
                    if (size[command, b])
                        printf " %s:%d", b ? names[b] : "<4K", size[command, b]
                printf "\n"
            }
        }' "$tmp/$1.requests"
}

# Usage: expect_no_failures SERVER
expect_no_failures ()
{
    expect "requests to server $1 that failed" \
        "$(grep -c 'return=-1' "$tmp/$1.requests" || :)" -eq 0
}

given_back ()
{
    read -r _ _ now _ peak _ <<<"$(mm_line "$1" "${2:-default}")"
    test $(((peak - now) * 10)) -ge $((peak * 9))
}

# A hog has ended whose memory the kernel trims now, in its own time: at least
# 90% of it must come back.  Usage: expect_given_back SERVER [DEVICE]
expect_given_back ()
{
    local now peak status=0

    wait_until 20 given_back "$@" || status=1
    echo "mem_used_total of server $1: peak $peak, after the hog $now:" \
        "$(((peak - now) * 1000 / peak)) per mille given back"
    test "$status" -eq 0 || die "the memory of the hog did not come back"
}

# --- The kernel.

# Set kernel_dir to a directory with vmlinuz and the modules of Debian's kernel
# for clouds, which is fetched once a build, not installed.
fetch_kernel ()
{
    local package reason

    requires flock apt-get apt-cache dpkg-deb xz
    case $qemu_kernel in
        6.1) package=linux-image-cloud-amd64 ;;
        *) package=linux-image-$qemu_kernel-cloud-amd64 ;;
    esac
    kernel_dir=$abs_top_builddir/tests/qemu/kernel-$qemu_kernel
    mkdir -p "$kernel_dir"
    (
        flock 9
        test ! -e "$kernel_dir/done" || exit 0
        cd "$kernel_dir"
        rm -rf -- *.deb boot lib usr
        package=$(apt-cache depends "$package" 2>/dev/null |
            awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
        test -n "$package" || {
            echo "apt knows no kernel $qemu_kernel"
            exit 1
        }
        timeout -k 5 180 apt-get -o APT::Sandbox::User=root \
            -o Acquire::Retries=2 download "$package" >"$kernel_dir/log" 2>&1 || {
            tail -n 1 "$kernel_dir/log"
            exit 1
        }
        dpkg-deb -x ./*.deb . && rm -- *.deb
        find lib -name '*.ko.xz' -exec xz -d {} +
        busybox depmod -b . "$(ls lib/modules)"
        touch "$kernel_dir/done"
    ) 9>"$kernel_dir.lock" >"$tmp/fetch" 2>&1 ||
        skip "no kernel of Debian's: $(tail -n 1 "$tmp/fetch")"
    kernel_version=$(ls "$kernel_dir/lib/modules")
}

requires_qemu ()
{
    requires qemu-system-x86_64 busybox cpio curl
    requires_plain "a guest's clock does not wait"
    test -x "$hog" || die "there is no $hog: run make check-qemu"
    if ldd "$(command -v busybox)" >/dev/null 2>&1; then
        skip "busybox is not linked statically"
    fi
    fetch_kernel
}

# --- Guests.

declare -A guest_pids=()

# Begin with a guest.  Usage: guest_new NAME [MODULE...]
# Modules are of the kernel, by name; what they depend on comes with them.
guest_new ()
{
    local name=$1 root=$tmp/$1.root module file
    shift

    mkdir -p "$root"/{bin,dev,proc,sys,run,tmp,etc,modules.d}
    cp "$(command -v busybox)" "$root/bin/busybox"
    for file in $(busybox --list); do
        test "$file" = busybox || ln -s busybox "$root/bin/$file"
    done
    cp "$guest_script" "$root/init"
    chmod +x "$root/init"
    cp "$hog" "$root/bin/hog"
    : >"$root/modules"
    for module; do
        modules_for "$module" >"$tmp/modules"
        test -s "$tmp/modules" ||
            grep -q "/${module//_/[-_]}\\.ko" \
                "$kernel_dir/lib/modules/$kernel_version/modules.builtin" ||
            skip "the kernel has no module $module"
        while read -r file; do
            if ! test -e "$root/modules.d/${file##*/}"; then
                cp "$kernel_dir/lib/modules/$kernel_version/$file" \
                    "$root/modules.d"
                echo "${file##*/}" >>"$root/modules"
            fi
        done <"$tmp/modules"
    done
}

# The files of a module and of what it depends on, in the order to load them in.
modules_for ()
{
    awk -v want="$1" '
        function visit(file,    names, n, i) {
            if (seen[file]++)
                return
            n = split (needs[file], names, " ")
            for (i = 1; i <= n; i++)
                visit(names[i])
            print file
        }
        {
            file = substr ($1, 1, length ($1) - 1)
            $1 = ""
            needs[file] = $0
            name = file
            sub (/.*\//, "", name)
            sub (/\.ko$/, "", name)
            gsub (/-/, "_", name)
            if (name == want)
                found = file
        }
        END { if (found) visit(found) }' \
        "$kernel_dir/lib/modules/$kernel_version/modules.dep"
}

# Copy a program with the libraries that it is linked to, or a library.
# Usage: guest_add NAME FILE DIRECTORY-IN-THE-GUEST
guest_add ()
{
    local root=$tmp/$1.root library

    mkdir -p "$root$3"
    rm -f "$root$3/${2##*/}"
    cp -L "$2" "$root$3"
    ldd "$2" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        test -e "$root$library" || cp -L "$library" "$root$library"
    done
}

# Start a guest, whose test is standard input.
# Usage: guest_boot NAME MEMORY-MIB [QEMU-ARG...]
guest_boot ()
{
    local name=$1 memory=$2 root=$tmp/$1.root
    shift 2

    cat >"$root/test"
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet |
        gzip -1) >"$tmp/$name.initrd"
    rm -rf "$root"
    mkfifo "$tmp/$name.in" "$tmp/$name.out"
    cat "$tmp/$name.out" >"$tmp/$name.guest" &
    at_end_kill $!
    qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot \
        -machine "pc,accel=$qemu_accel" -cpu Nehalem -smp 1 -m "$memory" \
        -kernel "$kernel_dir/boot/vmlinuz-$kernel_version" \
        -initrd "$tmp/$name.initrd" \
        -append "console=ttyS0 loglevel=5 tsc=reliable panic=-1 rootfstype=ramfs" \
        -serial "file:$tmp/$name.console" -serial "pipe:$tmp/$name" "$@" \
        </dev/null >"$tmp/$name.qemu" 2>&1 &
    guest_pids[$name]=$!
    at_end_kill $!
    # Kept open, or the guest's line would end.
    exec {guest_in}<>"$tmp/$name.in"
    guest_start=$(now_ms)
}

guest_show ()
{
    local file

    for file in "$tmp/$1".{qemu,console,guest}; do
        echo "--- ${file##*/}:"
        sed '/^@dmesg/q' "$file" 2>/dev/null | { head -n 30; echo ...; tail -n 30; }
    done
}

# Usage: guest_said NAME REGEX
guest_said ()
{
    grep -Eqs -- "$2" "$tmp/$1.guest"
}

# Limits are for a machine that does nothing else; others get so many times that.
patience=3

# Wait until a guest prints a line that matches.
# Usage: guest_wait NAME REGEX SECONDS
guest_wait ()
{
    local i limit=$(($3 * patience))

    for ((i = 0; i < limit * 10; i++)); do
        ! guest_said "$1" "$2" || return 0
        is_running "${guest_pids[$1]}" || break
        sleep 0.1
    done
    # It may have ended just after saying so.
    sleep 0.2
    ! guest_said "$1" "$2" || return 0
    guest_show "$1"
    die "guest $1 did not come to say $2 in $limit seconds"
}

# Let a guest go on that said that it reached something.
guest_go ()
{
    echo go >"$tmp/$1.in"
}

# Wait for the end of a guest, print what it said, and look whether all was
# well.  Usage: guest_end NAME SECONDS [write-errors]
guest_end ()
{
    guest_wait "$1" '^@end [0-9]+' "$2"
    sed -n '/^@dmesg/q; /^@/! p' "$tmp/$1.guest" | tr -d '\r' | sed "s/^/$1: /"
    wait_for "${guest_pids[$1]}" 30 || die "guest $1 did not power off"
    unset "guest_pids[$1]"
    guest_judge "$1" "${3:-}"
}

# Whether the test in a guest went well, and its kernel complains of nothing
# but, if that is allowed, errors of its disk.
# Usage: guest_judge NAME [write-errors]
guest_judge ()
{
    local bad

    guest_said "$1" '^@end 0' || {
        guest_show "$1"
        die "the test in guest $1 failed"
    }
    bad='Out of memory|oom-kill|blocked for more than|BUG:|Oops|Kernel panic'
    if test "${2:-}" != write-errors; then
        bad="$bad|Write-error|Read-error|I/O error|Dead connection"
        bad="$bad|[Cc]onnection timed out"
    fi
    if grep -E "$bad" "$tmp/$1.console" "$tmp/$1.guest" >"$tmp/bad"; then
        head -n 20 "$tmp/bad"
        die "guest $1: the kernel complains"
    fi
}

# Usage: expect_swapped NAME [MIB]
expect_swapped ()
{
    local pages

    pages=$(sed -n 's/^counters after swapoff: .*pswpout \([0-9]*\).*/\1/p' \
        "$tmp/$1.guest" | tail -n 1)
    expect "guest $1: MiB swapped out" $((${pages:-0} / 256)) -ge "${2:-100}"
}

# Usage: expect_verified NAME [TIMES]
expect_verified ()
{
    local nr

    nr=$(grep -Ec '^hog: [0-9]+ pages, [0-9]+ verified in [0-9]+ passes, 0 wrong' \
        "$tmp/$1.guest" || :)
    expect "guest $1: hogs that found all as written" "$nr" -eq "${2:-1}"
    ! guest_said "$1" '[^0] wrong' || die "guest $1: wrong pages"
}

# The arguments that make QEMU the client of a server.  Sets disk_args.  By its
# own default (werror=enospc), QEMU stops a guest whose device is full, instead
# of telling it.  If the server goes, it tells the guest after a second, and is
# connected again when there is a server again.
# Usage: disk SERVER [EXPORT [DEVICE-MODEL]]
disk ()
{
    local node=$1${2:+-$2} model=${3:-virtio-blk-pci,werror=report}

    disk_args=(-blockdev "driver=nbd,node-name=$node,server.type=unix,server.path=$tmp/$1.sock,export=${2:-},discard=unmap,reconnect-delay=1"
               -device "$model,drive=$node")
}

# --- A guest that says ready, runs a hog and says done, and the server of its
# swap; the figures of each stage are shown.

# Until the hog has ended.  Usage: watch_hog GUEST SERVER
watch_hog ()
{
    guest_wait "$1" '^@ready' 60
    show_mm before "$2"
    guest_go "$1"
    guest_wait "$1" '^hog: pass 0: .*written' 120
    show_mm during "$2"
    guest_wait "$1" '^@done' 120
}

# Until both have ended, with all as it was written.
# Usage: watch_swapoff GUEST SERVER
watch_swapoff ()
{
    show_mm "hog ended" "$2"
    guest_go "$1"
    guest_end "$1" 60
    show_mm "after swapoff" "$2"
    echo "the guest ran for $((($(now_ms) - guest_start) / 1000)) s"
    stop_servers
    show_requests "$2"
    expect_verified "$1"
    expect_swapped "$1"
    expect_no_failures "$2"
}
