# SPDX-License-Identifier: BSD-3-Clause
# What plot draws: a line for each cell, with its name and, of each server, the
# median, the least and the most of mbps, or of cpu.  With figures.awk, which
# see, and -v what=mbps or -v what=cpu.

END {
  if (failed)
    exit failed
  printf "cell"
  for (s = 1; s <= nr_servers; s++)
    printf "\t%s\t-\t-", servers[s]
  print ""
  for (c = 1; c <= nr_cells; c++) {
    printf "%s", cells[c]
    for (s = 1; s <= nr_servers; s++) {
      if (what == "cpu")
        m = median(cpu, cells[c], servers[s])
      else
        m = median(mbps, cells[c], servers[s])
      if (m == "")
        m = least = most = "NaN"
      printf "\t%s\t%s\t%s", m, least, most
    }
    print ""
  }
}
