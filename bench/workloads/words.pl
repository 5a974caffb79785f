#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
# A process worth capturing: perl hashes and arrays of the words, lines and
# places of real text.
#
# usage: words.pl LIST PAGES
# Reads the files named in LIST, again and again, until PAGES anonymous pages
# are resident; then says "ready" and waits to be killed.

use strict;
use warnings;

my ($list, $want) = @ARGV;

sub anonymous_pages
{
  open my $fh, '<', '/proc/self/status' or die "/proc/self/status: $!\n";
  while (<$fh>) {
    return $1 / 4 if /^RssAnon:\s+(\d+)/;
  }
  die "/proc/self/status: no RssAnon\n";
}

open my $names, '<', $list or die "$list: $!\n";
chomp (my @names = <$names>);
close $names;

my (@documents, %places, %follows);

sub add
{
  my ($name) = @_;
  my ($nr, @lines, $last) = (0);

  open my $fh, '<:raw', $name or return;
  while (my $line = <$fh>) {
    push @lines, $line;
    $nr++;
    while ($line =~ /(\w+)/g) {
      push @{$places{$1}}, [scalar @documents, $nr, pos $line];
      $follows{$last}{$1}++ if defined $last;
      $last = $1;
    }
  }
  push @documents, { name => $name, lines => \@lines, read_at => time };
}

while (1) {
  foreach my $name (@names) {
    add ($name);
    goto READY if anonymous_pages () >= $want;
  }
  die "$list: no text in these files\n" if !%places;
}

READY:
$| = 1;
print "ready\n";
sleep 600;
