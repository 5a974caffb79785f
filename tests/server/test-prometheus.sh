#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A real Prometheus scrapes the TCP socket, and has our figures.

# shellcheck source=SCRIPTDIR/server.sh
. "${srcdir:-.}/server.sh"
requires prometheus jq
requires_plain "the server is as usual, and it takes long enough"

start_with_stats 64M compact_interval=0 stats=tcp:127.0.0.1:0
../nbd-do "$uri" "write 0 4M text:1"

cat >"$tmp/prometheus.yml" <<END
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: zspage
    static_configs:
      - targets: ["127.0.0.1:$(stats_port)"]
END
# Its own memory, without a limit, is far more than it needs here.
prometheus --config.file="$tmp/prometheus.yml" \
    --storage.tsdb.path="$tmp/prometheus" --web.listen-address=127.0.0.1:0 \
    >"$tmp/prometheus.log" 2>&1 &
prometheus=$!
at_end_kill $prometheus

# Usage: query EXPRESSION; prints the value
query ()
{
    curl -sS --max-time 10 --noproxy '*' --get "http://127.0.0.1:$port/api/v1/query" \
        --data-urlencode "query=$1" 2>/dev/null | jq -er '.data.result[0].value[1]'
}

is_up ()
{
    port=$(listening_ports $prometheus | head -n 1)
    test -n "$port" && test "$(query up 2>/dev/null)" = 1
}

wait_until 60 is_up || {
    tail -n 20 "$tmp/prometheus.log"
    die "it does not scrape"
}
expect "orig_data_size" "$(query zspage_orig_data_size_bytes)" -eq $((4 * MIB))
expect "same by mm_stat" "$(query zspage_mem_used_bytes)" -eq "$(mm $used)"
expect "counter" "$(query zspage_freed_pages_total)" -eq 0
