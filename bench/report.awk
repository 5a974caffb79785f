# SPDX-License-Identifier: BSD-3-Clause
# Turn the raw figures of nbd-bench into a table for each cell.
#
# usage: awk -f report.awk RAW.tsv
#
# Every figure is a median over the rounds.  A ratio is the median of the
# ratios of each round, so that what slows a whole round down cancels out.

BEGIN {
  FS = "\t"
  nr_bases = split ("null zram zram-cached", bases, " ")
}

NR == 1 {
  for (i = 1; i <= NF; i++)
    column[$i] = i
  next
}

function field (name)
{
  return $(column[name])
}

{
  round = field("round")
  server = field("server")
  cell = field("cell")
  if (round > nr_rounds)
    nr_rounds = round
  if (!(server in server_known)) {
    server_known[server] = 1
    servers[++nr_servers] = server
  }
  if (!(cell in cell_known)) {
    cell_known[cell] = 1
    cells[++nr_cells] = cell
    big[cell] = field("size") > 4096
    title[cell] = sprintf ("%s: %s %s, %d bytes, connections %d, depth %d",
                           cell, field("pattern"), field("op"), field("size"),
                           field("connections"), field("depth"))
  }
  rate[cell, server, round] = big[cell] ? field("MBps") : field("iops")
  p50[cell, server, round] = field("p50_us")
  p99[cell, server, round] = field("p99_us")
  if (field("server_cpu_us_per_4k") != "NA")
    cpu[cell, server, round] = field("server_cpu_us_per_4k")
  if (cell == "fill") {
    memory[cell, server, round] = field("memory_kb") / 1024
    stored = field("MBps") * 1000000 * field("seconds") / 1048576
  }
}

# Sort list[1..n] and return its median; "" when n is 0.
function median_of (list, n,    i, j, x)
{
  for (i = 2; i <= n; i++) {
    x = list[i]
    for (j = i - 1; j >= 1 && list[j] > x; j--)
      list[j + 1] = list[j]
    list[j + 1] = x
  }
  if (n == 0)
    return ""
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

# The median of a metric; the smallest and greatest go to least and most.
function median (metric, cell, server,    list, n, r, m)
{
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in metric)
      list[++n] = metric[cell, server, r] + 0
  m = median_of(list, n)
  least = n ? list[1] : ""
  most = n ? list[n] : ""
  return m
}

function paired_ratio (metric, cell, server, base,    list, n, r)
{
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, server, r) in metric && (cell, base, r) in metric &&
        metric[cell, base, r] > 0)
      list[++n] = metric[cell, server, r] / metric[cell, base, r]
  return median_of(list, n)
}

function shown (format, value)
{
  return value == "" ? "-" : sprintf (format, value)
}

function print_ratios (cell, server,    b)
{
  for (b = 1; b <= nr_bases; b++) {
    if (!(bases[b] in server_known))
      continue
    printf "  %7s %6s",
      shown("%.2f", paired_ratio(rate, cell, server, bases[b])),
      shown("%.2f", paired_ratio(cpu, cell, server, bases[b]))
  }
}

function print_cell (cell,    s, b, m)
{
  print "\n" title[cell]
  printf "  %-12s %8s %17s %9s %9s %9s", "server", big[cell] ? "MB/s" : "iops",
    "min-max", "p50 us", "p99 us", "CPU us/4K"
  for (b = 1; b <= nr_bases; b++)
    if (bases[b] in server_known)
      printf "  %14s", "/ " bases[b]
  print ""
  for (s = 1; s <= nr_servers; s++) {
    m = median(rate, cell, servers[s])
    if (m == "")
      continue
    printf "  %-12s %8.0f %17s", servers[s], m,
      sprintf ("%.0f-%.0f", least, most)
    printf " %9.1f %9.1f %9s", median(p50, cell, servers[s]),
      median(p99, cell, servers[s]),
      shown("%.2f", median(cpu, cell, servers[s]))
    print_ratios(cell, servers[s])
    print ""
  }
}

END {
  if (nr_cells == 0) {
    print "report.awk: no figures" >"/dev/stderr"
    exit 1
  }
  printf "Medians of %d round%s.  Under \"/ SERVER\": speed, then CPU, as a ",
    nr_rounds, nr_rounds == 1 ? "" : "s"
  print "multiple of that server's."
  for (c = 1; c <= nr_cells; c++)
    print_cell(cells[c])

  printf "\nmemory after the fill of %.0f MiB\n", stored
  printf "  %-12s %8s %8s\n", "server", "MiB", "of data"
  for (s = 1; s <= nr_servers; s++) {
    m = median(memory, "fill", servers[s])
    if (m != "")
      printf "  %-12s %8.1f %7.1f%%\n", servers[s], m, 100 * m / stored
  }
}
