#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The server is found by --socket, $ZSPAGE_STATS or the default, and when it is
# not, one is told why and what to do.

. "${0%/*}/ctl.sh"

start_zspage_stats 64M
unset ZSPAGE_STATS
for socket in "$stats" "unix:$stats"; do
    expect_status 0 --socket "$socket"
    expect_status 0 show -s "$socket" default
    ZSPAGE_STATS=$socket expect_status 0
    # The option wins.
    ZSPAGE_STATS=/nonexistent expect_status 0 "--socket=$socket"
done
(cd "$tmp" && timeout 30 "$ctl" -s stats >/dev/null)
# Proxies are for others.
http_proxy=http://127.0.0.1:9 ALL_PROXY=http://127.0.0.1:9 \
    expect_status 0 --socket "$stats"

expect_failure 1 "unix:$tmp/none: cannot connect: No such file.*stats=unix:" \
    --socket "$tmp/none"
expect_failure 1 'Not a directory|Connection refused' --socket /dev/null
expect_failure 2 'the path is empty' --socket ''
expect_failure 2 'too long for a socket' --socket "/$(printf '%0120d' 0)"
for address in tcp: tcp:1 tcp:localhost:1 tcp:127.0.0.1 tcp:127.0.0.1: \
    tcp:127.0.0.1:0 tcp:127.0.0.1:65536 tcp:127.0.0.1:1x 'tcp:[::1' \
    'tcp:[]:1' tcp:::1:1 "tcp:127.0.0.1/@:1"; do
    expect_failure 2 'must be tcp:127' --socket "$address"
done
# Nothing listens on a port that was just given back.
expect_failure 1 'tcp:127\.0\.0\.1:1: cannot connect: Connection refused' \
    --socket tcp:127.0.0.1:1

# The packaged default, of which there is no server here, is where the unit
# has it, unless configure was told of another place.
default=$("$ctl" --help | sed -n 's,^  \(/.*stats\.sock\)$,\1,p')
case $("$abs_top_builddir/config.status" --config) in
    *runstatedir*)
        expect_match "default" "$default" '/nbdkit-zspage/stats\.sock$' ;;
    *) expect "default" "$default" = /run/nbdkit-zspage/stats.sock ;;
esac
if test ! -e "$default"; then
    expect_failure 1 "unix:$default: cannot connect"
fi

if test "$(id -u)" -ne 0; then
    chmod 0 "$stats"
    expect_failure 1 'Permission denied; the socket has mode 0000 and belongs' \
        --socket "$stats"
fi

# Servers that answer with what is in a file, and not at all.
stop_server
requires python3
python3 -c '
import os, socket, sys
def listen (path):
    s = socket.socket (socket.AF_UNIX)
    s.bind (path + ".new")
    s.listen (8)
    os.rename (path + ".new", path)
    return s
mute = listen (sys.argv[1] + "/mute")
other = listen (sys.argv[1] + "/other")
while True:
    c = other.accept ()[0]
    c.recv (4096)
    c.send (open (sys.argv[1] + "/answer", "rb").read ())
    c.close ()' "$tmp" &
at_end_kill $!
for ((i = 0; i < 500; i++)); do
    test ! -S "$tmp/other" || break
    sleep 0.02
done

# Usage: expect_failure_with REGEX ANSWER
expect_failure_with ()
{
    printf "$2" >"$tmp/answer"
    expect_failure 1 "$1" --socket "$tmp/other"
    expect_failure 1 . --socket "$tmp/other" get default mm_stat
    expect_failure 1 . --socket "$tmp/other" watch --count 1
}
ok='HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length:'
expect_failure_with 'this is no server of zspage' 'NBDMAGIC rubbish\r\n\r\n'
expect_failure_with 'ended the connection before its answer' ''
# A part of an answer is none.
expect_failure_with 'ended the connection before its answer' \
    "$ok 100\r\n\r\n   81920    4096"
expect_failure_with 'the server answers with HTTP status 404' \
    'HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<h1>No!</h1>'
expect_failure_with 'out of memory' \
    'HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\n\r\nout of memory\n'

# Usage: expect_bad_devices REGEX BODY
expect_bad_devices ()
{
    printf '%b' "$ok ${#2}\r\n\r\n$2" >"$tmp/answer"
    expect_failure 1 "$1" --socket "$tmp/other"
}
expect_bad_devices 'is no JSON' ''
expect_bad_devices 'is no JSON' '[{"device":"a"}'
expect_bad_devices 'is no list of devices' '{"device":"a"}'
expect_bad_devices 'is no list of devices' '[{"device":1}]'
expect_bad_devices 'is no list of devices' '[[]]'

# Figures that it does not tell are missing, no more.
body='[{"device":"a","mm_stat":{"orig_data_size":"x"}}]'
printf '%b' "$ok ${#body}\r\n\r\n$body" >"$tmp/answer"
expect_status 0 --socket "$tmp/other" --raw -n -o NAME,DATA,TOTAL,RATIO
expect "row" "$(cat "$tmp/out")" = "a - - -"

start=$(now_ms)
expect_failure 1 'mute: no answer within 10 seconds$' --socket "$tmp/mute"
expect "ms" $(($(now_ms) - start)) -lt 15000
