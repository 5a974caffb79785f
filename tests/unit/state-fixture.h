/* SPDX-License-Identifier: BSD-3-Clause */
/* A store in a state file of a fresh folder, in memory where there is
 * /dev/shm; and what tests do to such files.
 */
#ifndef STATE_FIXTURE_H
#define STATE_FIXTURE_H

#include "layout.h"
#include "store-fixture.h"

#define STATE_PATH 200

/* A folder with a file that is not there yet. */
struct state_folder {
  char folder[STATE_PATH], path[STATE_PATH + 16], copy[STATE_PATH + 16];
};

/* Returns false without assertions if there is none. */
bool state_folder_make (struct state_folder *folder);
/* With the files named above. */
void state_folder_remove (struct state_folder *folder);

struct state_fixture {
  struct state_folder at;
  struct store_params params;
  struct codec_pool *strong; /* NULL: none */
  struct store_fixture f;    /* f.store is NULL while it is closed */
};

/* params.path and params.strong are set here. */
void state_fixture_init (struct state_fixture *s, struct store_params params,
                         bool has_strong);
void state_fixture_fini (struct state_fixture *s);

/* Open the file again; what was found in it is as store_recovered says. */
void state_fixture_open (struct state_fixture *s);
/* Destroy the store, after a check of it. */
void state_fixture_close (struct state_fixture *s);
/* The same, but the file is then as if the process had died before. */
void state_fixture_kill (struct state_fixture *s);

/* Without assertions, so that they may be used in a forked process: 0, or
 * -errno.  A copy has holes where the file has.
 */
int state_copy (const char *from, const char *to);

/* Whether two files have the same bytes, and holes of the same size. */
bool state_is_same (const char *a, const char *b);

void state_peek (const char *path, uint64_t offset, void *buf, size_t len);
void state_poke (const char *path, uint64_t offset, const void *buf,
                 size_t len);
struct zspage_header state_header (const char *path);
/* Write a header, with a good checksum. */
void state_header_set (const char *path, struct zspage_header header);

/* The word of a slot. */
uint64_t state_word (const char *path, uint64_t idx);
void state_word_set (const char *path, uint64_t idx, uint64_t word);

#endif /* STATE_FIXTURE_H */
