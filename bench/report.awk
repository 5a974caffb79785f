# SPDX-License-Identifier: BSD-3-Clause
# A table for each cell of nbd-bench.  With figures.awk, which see.

BEGIN {
  nr_bases = split ("null zram zram-cached", bases, " ")
}

function title_of (cell,    what)
{
  what = sprintf ("%s: %s %s, %s%d bytes, connections %d, depth %d", cell,
    pattern[cell], op[cell] == "half" ? "write" : op[cell],
    op[cell] == "replay" ? "mean " : "", size[cell], connections[cell],
    depth[cell])
  return what (op[cell] == "half" ? ", half of the pages stored before" : "")
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
  print "\n" title_of(cell)
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

function print_memory (    s, m)
{
  printf "\nmemory after the fill of %.0f MiB\n", stored
  printf "  %-12s %8s %8s\n", "server", "MiB", "of data"
  for (s = 1; s <= nr_servers; s++) {
    m = median(memory, "fill", servers[s])
    if (m != "")
      printf "  %-12s %8.1f %7.1f%%\n", servers[s], m, 100 * m / stored
  }
}

END {
  if (failed)
    exit failed
  if (nr_cells == 0) {
    print "report.awk: no figures" >"/dev/stderr"
    exit (failed = 1)
  }
  printf "Medians of %d round%s.  Under \"/ SERVER\": speed, then CPU, as a ",
    nr_rounds, nr_rounds == 1 ? "" : "s"
  print "multiple of that server's."
  for (c = 1; c <= nr_cells; c++)
    print_cell(cells[c])
  print_memory()
}
