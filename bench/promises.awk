# SPDX-License-Identifier: BSD-3-Clause
# What the project promises about its speed, next to what was measured.  With
# figures.awk, which see; after report.awk.
#
# The floor of a request is what a server that does nothing takes for it, null,
# plus what the codec alone takes for the same pages: both measured in the same
# round.

BEGIN {
  # Limits: "<=" or ">=" and a number; what has none here is only shown.
  limit["read-4k CPU us over floor"] = "<= 1.0"
  limit["write-4k CPU us over floor"] = "<= 1.5"
  limit["read-4k iops / null"] = ">= 0.90"
  limit["write-4k iops / (null + bare LZ4)"] = ">= 0.95"
  limit["write-4k iops / memory-zstd"] = ">= 3.0"
  limit["read-4k CPU / zram"] = "<= 0.70"
  limit["write-4k CPU / zram"] = "<= 0.95"
  limit["write-128k rate / zram"] = ">= 2.0"
  limit["read-128k rate / zram"] = ">= 1.2"
  limit["write-random-128k-4x16 rate / zram"] = ">= 2.0"
  limit["read-random-128k-4x16 rate / zram"] = ">= 1.2"
  limit["read-4k-one p50 us - null"] = "<= 5.0"
  limit["read-4k-one p50 us - zram"] = "<= 0.0"
  limit["swap-mix rate / zram"] = ">= 1.2"
}

# One line; MEASURED and the spread of the median before it.
function promise (name, measured,    words, verdict, l)
{
  if (measured == "")
    return
  l = name in limit ? limit[name] : "-"
  verdict = ""
  if (l != "-") {
    split (l, words, " ")
    verdict = "MISSED"
    if (words[1] == "<=" ? measured <= words[2] + 0 : measured >= words[2] + 0)
      verdict = "holds"
    nr_missed += verdict == "MISSED"
    nr_held += verdict == "holds"
  }
  printf "  %-44s %9.3f %17s %8s%s\n", name, measured,
    sprintf ("%.3f to %.3f", least, most), l, verdict == "" ? "" : "  " verdict
}

function print_floors (    c, cell, over, o)
{
  if (median_bare(bare, "compress") == "" || !("null" in server_known) ||
      !("zspage" in server_known))
    return
  printf "\nfloors: us of server CPU for 4 KiB.  Bare LZ4 takes %.2f us to ",
    median_bare(bare_page, "compress")
  printf "compress and\n%.2f us to decompress a page (%d pages; %.1f%% of one ",
    median_bare(bare_page, "decompress"), bare_pages,
    100 * (1 - median_bare(bare, "compress") / \
           median_bare(bare_page, "compress"))
  print "repeated word cost nothing)"
  printf "  %-26s %8s %8s %8s %8s %17s\n", "cell", "zspage", "null", "bare",
    "over", "min-max"
  for (c = 1; c <= nr_cells; c++) {
    cell = cells[c]
    over = over_floor(cell, "zspage")
    if (over == "" || cell == "fill")
      continue
    o = sprintf ("%.2f to %.2f", least, most)
    printf "  %-26s %8.2f %8.2f %8.2f %8.2f %17s\n", cell,
      median(cpu, cell, "zspage"), median(cpu, cell, "null"),
      median_bare_cost(cell), over, o
  }
}

function median_bare_cost (cell,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if (bare_cost(cell, r) != "")
      list[++n] = bare_cost(cell, r)
  return median_of(list, n)
}

# Our rate of 4 KiB requests as a multiple of what null's would be if each took
# the codec's time besides.  With many requests in flight all CPUs are busy all
# the time, with the client, the kernel and the server, and share what comes on
# top: a request takes 1 / rate of the time of all of them, and would take
# bare / nr_cpus more.
function paired_to_floor_rate (cell,    list, n, r)
{
  n = 0
  for (r = 1; r <= nr_rounds; r++)
    if ((cell, "zspage", r) in rate && (cell, "null", r) in rate &&
        rate[cell, "null", r] > 0 && nr_cpus > 0 && bare_cost(cell, r) != "")
      list[++n] = rate[cell, "zspage", r] * \
        (1 / rate[cell, "null", r] + bare_cost(cell, r) / 1e6 / nr_cpus)
  return median_of(list, n)
}

function print_to_zram (peer,    c)
{
  if (!(peer in server_known))
    return
  # zram-cached answers from the page cache and compresses on the kernel's time,
  # so it is shown beside zram, and nothing is promised about it.
  for (c = 1; c <= nr_cells; c++) {
    if (cells[c] == "fill")
      continue
    promise(cells[c] " rate / " peer,
            paired_ratio(rate, cells[c], "zspage", peer))
    promise(cells[c] " CPU / " peer,
            paired_ratio(cpu, cells[c], "zspage", peer))
  }
}

function print_latencies (cell,    b, peers, n)
{
  n = split ("null zram zram-cached", peers, " ")
  for (b = 1; b <= n; b++)
    promise(cell " p50 us - " peers[b],
            paired_difference(p50, cell, "zspage", peers[b]))
}

END {
  if (failed)
    exit failed
  print_floors()
  print "\npromises: zspage against the others, medians of what each round says"
  printf "  %-44s %9s %17s %8s\n", "promise", "measured", "min-max", "limit"
  promise("read-4k CPU us over floor",
          over_floor("read-4k", "zspage"))
  promise("write-4k CPU us over floor",
          over_floor("write-4k", "zspage"))
  promise("read-4k iops / null",
          paired_ratio(rate, "read-4k", "zspage", "null"))
  promise("write-4k iops / (null + bare LZ4)",
          paired_to_floor_rate("write-4k"))
  promise("write-4k iops / memory-zstd",
          paired_ratio(rate, "write-4k", "zspage", "memory-zstd"))
  promise("write-4k CPU / memory-zstd",
          paired_ratio(cpu, "write-4k", "zspage", "memory-zstd"))
  print_latencies("read-4k-one")
  print_latencies("write-4k-one")
  print_to_zram("zram")
  print_to_zram("zram-cached")
  printf "%d of the promises hold, %d %s missed; the others have no limit\n",
    nr_held, nr_missed, nr_missed == 1 ? "is" : "are"
}
