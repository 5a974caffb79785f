# SPDX-License-Identifier: BSD-3-Clause
# Compare the ratios of zspage to its peers in two files of raw figures.
#
# usage: awk -f figures.awk -f compare.awk set=base: BASE set=new: NEW
#
# Exit status: 1 when a ratio got worse by more than 10%, 2 when the files have
# nothing in common, else 0.

# One line, if both files have it.  better is 1 where more is better, else -1.
function compare (cell, peer, name, metric, better,    a, b, change, worse)
{
  a = paired_ratio(metric, "base:" cell, "zspage", peer)
  b = paired_ratio(metric, "new:" cell, "zspage", peer)
  if (a == "" || b == "" || a == 0)
    return
  change = b / a - 1
  # Ratios of decimal figures: what is 10% is not more for being binary.
  worse = -better * change > 0.1 + 1e-9
  nr_compared++
  nr_worse += worse
  printf "  %-26s %-12s %-4s %8.3f %8.3f %+7.1f%%%s\n", cell, peer, name, a, b,
    100 * change, worse ? "  WORSE" : ""
}

END {
  if (failed)
    exit failed
  print "zspage as a multiple of each peer: rate (more is better), CPU (less is)"
  printf "  %-26s %-12s %-4s %8s %8s %8s\n", "cell", "peer", "", "base", "new",
    "change"
  for (c = 1; c <= nr_cells; c++) {
    if (substr (cells[c], 1, 5) != "base:")
      continue
    name = substr (cells[c], 6)
    for (s = 1; s <= nr_servers; s++)
      if (servers[s] != "zspage") {
        compare(name, servers[s], "rate", rate, 1)
        compare(name, servers[s], "CPU", cpu, -1)
      }
  }
  if (nr_compared == 0) {
    print "compare.awk: the files have no cell and peer in common" >"/dev/stderr"
    exit 2
  }
  printf "%d of %d ratios got worse by more than 10%%\n", nr_worse, nr_compared
  exit nr_worse > 0
}
