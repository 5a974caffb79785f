/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process does with a state file until it is killed, and the memory in
 * which it says what it has done, and was about to do.  Of test-kill, which
 * starts, kills and survives it.
 *
 * Functions that find something wrong say so in the world, and end the process if
 * it is a child.
 */
#ifndef KILL_SCENARIOS_H
#define KILL_SCENARIOS_H

#include "helpers.h"
#include "state-fixture.h"
#include "store-internal.h"

/* The last page of the table is not full. */
#define NR_PAGES (2 * 512 + 100)
/* Fault points there are, by name in points[]; one more counts any of them. */
#define NR_POINTS 25u
#define ANY_POINT NR_POINTS
extern const char *const points[NR_POINTS];

enum end {
  END_NONE,
  END_OF_SCENARIO,
  END_AT_POINT,
  END_FAILED,
};

/* What the child and this process share. */
struct world {
  /* To be killed at: the nth time, from 1 on, that it is passed; 0: never. */
  size_t kill_at;
  uint64_t kill_nth;

  enum end end;
  char why[200]; /* it failed */
  uint64_t passed[NR_POINTS + 1];
  bool is_made;             /* there is a file */
  bool in_flight[NR_PAGES]; /* is changed now, from acked to next */
  bool was_changed[NR_PAGES];
  uint8_t acked[NR_PAGES][PAGE], next[NR_PAGES][PAGE];
};

struct scenario {
  const char *name;
  void (*play) (void);
  enum codec_id codec;
  unsigned chain_size;
  uint64_t limit_pages;
  bool has_strong;
};

/* Of this process; a child inherits it. */
struct process {
  struct world *world;
  bool is_child;
  struct state_folder at;
  struct codec_pool *codecs[CODEC_COUNT], *strong;
  struct crew *crew; /* of a child */
  uint8_t *dictionaries[2];
  size_t dictionary_lens[2];

  const struct scenario *scenario;
  bool has_checks;
  struct store *store;
};
extern struct process us;

/* Of each thread: what it plays. */
extern _Thread_local struct rng dice;

/* This process ends so, at once. */
void die (enum end end) __attribute__ ((noreturn));
void wrong (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* Open or make the file, and the store in it.  0, or -errno. */
int store_open (bool *is_new);

/* The page is what it was, or what it was to be, and from now on that. */
bool page_settle (uint64_t idx);

/* Some operations of all kinds on the first pages. */
void play_some (unsigned n, uint64_t nr_pages);

#define NR_SCENARIOS 11u
extern const struct scenario scenarios[NR_SCENARIOS];

#endif /* KILL_SCENARIOS_H */
