#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Make a file of pages of real processes, for the benchmarks and for the tests
# that compare with kernel zram on real data.
#
# A workload of each kind is started on the text that this machine has, given
# an empty environment (what it holds is captured, and an environment can hold
# secrets), stopped when it is big enough, captured by zspage-pages, and
# killed by its PID.  The file appears all at once, with mode 0600.

set -u

usage ()
{
    cat <<EOF
usage: real-pages.sh [--kind KIND] OUTFILE NPAGES

Write NPAGES 4096-byte pages of real processes to OUTFILE.

  --kind KIND   perl, python, node; compiler: g++; database: SQLite in memory;
                or mix: as many of the first three as there are [mix]
  --help

The program zspage-pages is \$ZSPAGE_PAGES, or looked for in ../ctl beside
this script and here, and in \$PATH.  Exit status: 0; 77 when this machine
lacks what is needed; 2 for a bad command line; 1 for any other failure.
EOF
}

me=real-pages.sh
srcdir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
ready_timeout=300
tmp=
partial=
workload_pid=

die ()
{
    echo "$me: $*" >&2
    exit 1
}

lacking ()
{
    echo "$me: $*" >&2
    exit 77
}

bad_usage ()
{
    echo "$me: $*" >&2
    usage >&2
    exit 2
}

stop_workload ()
{
    test -n "$workload_pid" || return 0
    kill -KILL "$workload_pid" 2>/dev/null
    wait "$workload_pid" 2>/dev/null
    workload_pid=
}

clean_up ()
{
    stop_workload
    test -z "$partial" || rm -f "$partial"
    test -z "$tmp" || rm -rf "$tmp"
}

find_zspage_pages ()
{
    local candidate

    for candidate in "${ZSPAGE_PAGES:-}" ../ctl/zspage-pages \
        "$srcdir/../ctl/zspage-pages" "$(command -v zspage-pages)"; do
        if test -n "$candidate" && test -x "$candidate"; then
            zspage_pages=$candidate
            return
        fi
    done
    lacking "zspage-pages is not built"
}

# Print the program that runs workloads of kind $1; fail if there is none.  It
# must be the program itself, not a wrapper, as its PID is what is captured.
interpreter ()
{
    case $1 in
        perl) perl -e 'print $^X' ;;
        python) python3 -c 'import sys; print(sys.executable)' ;;
        node) node -e 'console.log(process.execPath)' ;;
        compiler) g++ -print-prog-name=cc1plus ;;
        database) python3 -c 'import sqlite3, sys; print(sys.executable)' ;;
    esac 2>/dev/null
}

# The text is the same for all kinds: headers, manuals and library sources.
# Its order is mixed, but the same from run to run.
list_text ()
{
    local kind dir dirs=(/usr/include /usr/share/doc /usr/share/common-licenses
                     /usr/share/dict)
    local nr_bytes

    for kind in "${kinds[@]}"; do
        case $kind in
            perl)
                while IFS= read -r dir; do
                    dirs+=("$dir")
                done < <(perl -e 'print "$_\n" for @INC') ;;
            python | database)
                dirs+=("$(python3 -c 'import sysconfig
print(sysconfig.get_path ("stdlib"))')") ;;
        esac
    done
    find "${dirs[@]}" -xdev -type f -size +1k -size -256k \
        \( -name '*.h' -o -name '*.hpp' -o -name '*.pm' -o -name '*.pl' \
        -o -name '*.pod' -o -name '*.py' -o -name '*.txt' -o -name '*.md' \
        -o -name '*.html' -o -name 'README*' -o -name copyright \
        -o -path '*/common-licenses/*' -o -path '*/dict/*' \) \
        -readable -printf '%p\t%s\n' 2>/dev/null |
        LC_ALL=C sort -u |
        shuf --random-source=<(yes "$me") |
        head -n 20000 >"$tmp/sizes"
    cut -f 1 "$tmp/sizes" >"$tmp/list"
    nr_bytes=$(awk -F '\t' '{ n += $2 } END { printf "%.0f\n", n }' \
        "$tmp/sizes")
    test "$nr_bytes" -ge 2000000 ||
        lacking "only $nr_bytes bytes of text in: ${dirs[*]}"
}

# C++ that takes long to compile, and much memory.  Usage: write_source NR-CLASSES
write_source ()
{
    awk -v n="$1" 'BEGIN {
        split ("map string vector functional unordered_map set", headers)
        for (i in headers)
            print "#include <" headers[i] ">"
        for (i = 0; i < n; i++) {
            printf "struct S%d {\n", i
            printf "  std::map<std::string, std::vector<int>> by_name;\n"
            printf "  std::unordered_map<int, std::function<int (int)>> calls;\n"
            printf "  std::set<std::pair<int, S%d *>> others;\n", i
            printf "  int f%d (int x) {\n", i
            printf "    calls[x] = [=] (int y) { return y * %d + x; };\n", i
            printf "    by_name[\"key %d\"].push_back (x);\n", i
            printf "    others.emplace (x, this);\n"
            printf "    return calls[x] (x) + (int) by_name.size ();\n  }\n};\n"
        }
        print "int main () {\n  int r = 0;"
        for (i = 0; i < n; i++)
            printf "  r += S%d ().f%d (r);\n", i, i
        print "  return r;\n}"
    }'
}

# Whether the workload says so, or, if it cannot, is so big.
is_ready ()
{
    case $1 in
        compiler) awk -v want="$2" '/^RssAnon:/ { exit $2 / 4 < want }' \
            "/proc/$workload_pid/status" ;;
        *) grep -q ready "$tmp/ready" ;;
    esac
}

# Start the workload of kind $1 and wait until it has $2 anonymous pages.
start_workload ()
{
    local kind=$1 pages=$2 program waited=0 command
    local environment=(env -i PATH=/usr/bin:/bin LANG=C.UTF-8)

    program=$(interpreter "$kind") || die "$kind has gone"
    case $kind in
        perl) command=("$program" "$srcdir/workloads/words.pl" "$tmp/list" "$pages") ;;
        python) command=("$program" "$srcdir/workloads/words.py" "$tmp/list" "$pages") ;;
        node) command=("$program" "--max-old-space-size=$((pages / 100 + 512))"
                       "$srcdir/workloads/words.js" "$tmp/list" "$pages") ;;
        database) command=("$program" "$srcdir/workloads/database.py" "$tmp/list"
                           "$pages") ;;
        compiler)
            write_source $((pages / 100 + 100)) >"$tmp/source.cc"
            command=("$program" -quiet -O2 -imultiarch "$(g++ -print-multiarch)"
                           "$tmp/source.cc" -o /dev/null) ;;
    esac
    : >"$tmp/ready"
    (cd / && exec "${environment[@]}" "${command[@]}") \
        </dev/null >"$tmp/ready" 2>"$tmp/errors" &
    workload_pid=$!
    until is_ready "$kind" "$pages"; do
        kill -0 "$workload_pid" 2>/dev/null ||
            die "the $kind workload ended: $(tail -n 1 "$tmp/errors")"
        test "$waited" -lt $((ready_timeout * 5)) ||
            die "the $kind workload was not ready in $ready_timeout s"
        sleep 0.2
        waited=$((waited + 1))
    done
}

# Append $2 pages of a workload of kind $1 to the file.
add_pages ()
{
    local kind=$1 pages=$2 captured

    # A tenth more: not every resident page need be one that is captured.
    start_workload "$kind" $((pages + pages / 10 + 500))
    kill -STOP "$workload_pid"
    "$zspage_pages" capture --pid "$workload_pid" "$tmp/captured" \
        >"$tmp/capture.log" 2>&1 ||
        die "cannot capture the $kind workload: $(tail -n 1 "$tmp/capture.log")"
    stop_workload
    captured=$(($(stat -c %s "$tmp/captured") / 4096))
    test "$captured" -ge "$pages" ||
        die "only $captured pages of the $kind workload were captured," \
            "$pages are needed"
    head -c $((pages * 4096)) "$tmp/captured" >>"$partial" ||
        die "cannot write $partial"
    rm -f "$tmp/captured"
}

kind=mix
while test $# -gt 0; do
    case $1 in
        --kind) test $# -ge 2 || bad_usage "--kind needs a word"
                kind=$2
                shift ;;
        --kind=*) kind=${1#--kind=} ;;
        --help) usage
                exit 0 ;;
        --) shift
            break ;;
        -*) bad_usage "$1: unknown option" ;;
        *) break ;;
    esac
    shift
done
test $# -eq 2 || bad_usage "OUTFILE and NPAGES are needed"
outfile=$1
npages=$2
[[ $npages =~ ^[1-9][0-9]{0,8}$ ]] || bad_usage "$npages: not a number of pages"
case $kind in
    perl | python | node | compiler | database) wanted=("$kind") ;;
    mix) wanted=(perl python node) ;;
    *) bad_usage "--kind $kind: perl, python, node, compiler, database or mix is needed" ;;
esac

kinds=()
for k in "${wanted[@]}"; do
    if program=$(interpreter "$k") && test -x "$program"; then
        kinds+=("$k")
    fi
done
test ${#kinds[@]} -gt 0 || lacking "none of these is installed: ${wanted[*]}"
test "$npages" -ge ${#kinds[@]} || bad_usage "$npages: too few pages"
find_zspage_pages

umask 077
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
tmp=$(mktemp -d) || die "cannot make a temporary directory"
partial=$(mktemp "$outfile.XXXXXX") || die "cannot write beside $outfile"

list_text
share=$((npages / ${#kinds[@]}))
rest=$((npages - share * ${#kinds[@]}))
for k in "${kinds[@]}"; do
    add_pages "$k" $((share + rest))
    rest=0
done
mv -f "$partial" "$outfile" || die "cannot make $outfile"
partial=
