# SPDX-License-Identifier: BSD-3-Clause
# Read the raw figures of nbd-bench, and the statistics that report.awk,
# promises.awk, compare.awk and plot have in common.
#
# usage: awk -f figures.awk -f WHAT-PRINTS.awk RAW.tsv
#
# Every figure is a median over the rounds.  A ratio or difference is the median
# of those of each round, so that what slows a whole round down cancels out.
#
# Metrics are arrays by (cell, server, round): rate is requests a second where
# requests are of 4096 bytes and MB/s where they are larger, mbps always MB/s;
# p50 and p99 are us, cpu us of the server's CPU time for 4096 bytes; memory, of
# cell "fill" only, MiB.  bare, by ("compress" or "decompress", round), is us of
# CPU time that the codec alone takes for a page, where pages of one repeated
# word, which it is spared, count as none.
#
# `set=NAME' before a file puts NAME in front of the names of its cells.

BEGIN {
  FS = "\t"
}

FNR == 1 {
  split ("", column)
  for (i = 1; i <= NF; i++)
    column[$i] = i
  if (!("server_cpu_us_per_4k" in column) || $1 != "round") {
    printf "%s: not the raw figures of nbd-bench\n", FILENAME >"/dev/stderr"
    exit (failed = 2)
  }
  next
}

# "" where the file has no such column.
function field (name)
{
  return name in column ? $(column[name]) : ""
}

field("server") == "bare" {
  bare[field("cell"), field("round")] = field("server_cpu_us_per_4k") + 0
  bare_page[field("cell"), field("round")] = field("server_cpu_us_per_op") + 0
  bare_pages = field("requests")
  next
}

{
  round = field("round") + 0
  server = field("server")
  cell = set field("cell")
  if (round > nr_rounds)
    nr_rounds = round
  if (!(server in server_known)) {
    server_known[server] = 1
    servers[++nr_servers] = server
  }
  if (!(cell in cell_known)) {
    cell_known[cell] = 1
    cells[++nr_cells] = cell
    op[cell] = field("cell") ~ /^half/ ? "half" : field("op")
    pattern[cell] = field("pattern")
    size[cell] = field("size") + 0
    big[cell] = size[cell] > 4096
    connections[cell] = field("connections")
    depth[cell] = field("depth")
  }
  rate[cell, server, round] = big[cell] ? field("MBps") : field("iops")
  mbps[cell, server, round] = field("MBps")
  p50[cell, server, round] = field("p50_us")
  p99[cell, server, round] = field("p99_us")
  if (field("server_cpu_us_per_4k") != "NA")
    cpu[cell, server, round] = field("server_cpu_us_per_4k")
  if (field("nr_cpus") + 0 > 0)
    nr_cpus = field("nr_cpus")
  if (field("cell") == "fill") {
    memory[cell, server, round] = field("memory_kb") / 1024
    stored = field("MBps") * 1000000 * field("seconds") / 1048576
  }
}

# Sort list[1..n] and return its median; "" when n is 0.  The smallest and the
# greatest go to least and most.
function median_of (list, n,    i, j, x)
{
  for (i = 2; i <= n; i++) {
    x = list[i]
    for (j = i - 1; j >= 1 && list[j] > x; j--)
      list[j + 1] = list[j]
    list[j + 1] = x
  }
  least = n ? list[1] : ""
  most = n ? list[n] : ""
  if (n == 0)
    return ""
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function median (metric, cell, server,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in metric)
      list[++n] = metric[cell, server, r] + 0
  return median_of(list, n)
}

function paired_ratio (metric, cell, server, base,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in metric && (cell, base, r) in metric &&
        metric[cell, base, r] > 0)
      list[++n] = metric[cell, server, r] / metric[cell, base, r]
  return median_of(list, n)
}

function paired_difference (metric, cell, server, base,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in metric && (cell, base, r) in metric)
      list[++n] = metric[cell, server, r] - metric[cell, base, r]
  return median_of(list, n)
}

# us of the codec that a request of this cell cannot do without, for 4096 bytes
# in round r; "" if that was not measured, or has no answer.
function bare_cost (cell, r)
{
  if (!(("compress", r) in bare))
    return ""
  if (op[cell] == "read")
    return bare["decompress", r]
  if (op[cell] == "write" || op[cell] == "half")
    return bare["compress", r]
  if (op[cell] == "mixed")
    return (bare["compress", r] + bare["decompress", r]) / 2
  return ""
}

# us of CPU time over the floor: what a server that does nothing takes in the
# same round, and the codec alone.
function over_floor (cell, server,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in cpu && (cell, "null", r) in cpu &&
        bare_cost(cell, r) != "")
      list[++n] = cpu[cell, server, r] - cpu[cell, "null", r] - \
                  bare_cost(cell, r)
  return median_of(list, n)
}

function median_bare (costs, what,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((what, r) in costs)
      list[++n] = costs[what, r]
  return median_of(list, n)
}

function shown (format, value)
{
  return value == "" ? "-" : sprintf (format, value)
}
