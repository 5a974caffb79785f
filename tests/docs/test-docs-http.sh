#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each HTTP status that the manual tells of is what a request gets, and none is
# left out.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"
requires curl jq nbdcopy ss

start_nbdkit "$plugin" "stats=unix:$tmp/stats" stats=tcp:127.0.0.1:0 64M
port=$(ss -Hltnp "src 127.0.0.1" | grep "pid=$server_pid," |
    awk '{ sub(/.*:/, "", $4); print $4; exit }')
test -n "$port" || skip "cannot find the port"

# Usage: status PATH [CURL-OPTION...]
status ()
{
    curl -sS -o "$tmp/answer" -w '%{http_code}\n' --unix-socket "$tmp/stats" \
        "${@:2}" "http://localhost$1"
}

# A client that has the device open: it is stuck, as nobody reads what it
# copies.
mkfifo "$tmp/fifo"
nbdcopy "$uri" - >"$tmp/fifo" 2>"$tmp/nbdcopy.log" &
at_end_kill $!
exec 3<"$tmp/fifo"
clients=0
for ((i = 0; i < 500 && clients == 0; i++)); do
    status /devices/default/stats.json >/dev/null
    clients=$(jq .clients "$tmp/answer")
    sleep 0.02
done
expect "connections that have the device open" "$clients" -gt 0

long=$(printf '%17000s' '' | tr ' ' x)
{
    status /metrics
    status /devices/default/mem_limit -X PUT -d much
    curl -sS -o "$tmp/answer" -w '%{http_code}\n' \
        "http://127.0.0.1:$port/devices/default/dictionary"
    status /devices/nobody/mm_stat
    status /devices/default/mm_stat -X PUT -d 0
    status /devices/default/reset -X PUT -d 1
    status /devices/default/mem_limit -X PUT -d "$(printf '%300s' 1)"
    status "/$long"
    status /metrics -H "X-Long: $long"
} | sort -u >"$tmp/server"

tagged "$stats_page" HTTP | awk -F '\t' '$1 == "Status" { print $2 }' |
    sed 's/, /\n/g' >"$tmp/manual"
agree "status" "$tmp/server" "$tmp/manual"

# Statuses that the code names are among them.
grep -o 'MHD_HTTP_[A-Z_]*' "$abs_top_srcdir/plugin/stats/http.c" | sort -u |
    sed 's/MHD_HTTP_//' >"$tmp/code"
cat >"$tmp/known" <<'EOF'
BAD_REQUEST
CONFLICT
CONTENT_TOO_LARGE
FORBIDDEN
METHOD_NOT_ALLOWED
NOT_FOUND
OK
EOF
agree "statuses in the code, which this test provokes" "$tmp/code" "$tmp/known"
