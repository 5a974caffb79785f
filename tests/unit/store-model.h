/* SPDX-License-Identifier: BSD-3-Clause */
/* A store, and a plain array that it must agree with after every operation.
 * For tests and for fuzzing: without assertions, each function returns NULL or
 * what is wrong, a string of the model.
 *
 * Where an operation fails for lack of memory, the model finds out from
 * failed_writes how far it should have come, and checks that it did.
 */
#ifndef STORE_MODEL_H
#define STORE_MODEL_H

#include "store.h"

struct store_model {
  struct store *store;
  uint64_t bytes, nr_pages;
  uint8_t *data;   /* [bytes] */
  bool *stored;    /* [nr_pages] written, and not trimmed or zeroed since */
  bool may_fail;   /* there may be no memory: ENOSPC is legal */
  uint64_t failed; /* operations that failed, legally */
  uint8_t *buf;    /* [bytes] scratch */
  char why[200];
};

/* -ENOMEM.  The store is borrowed, and is empty. */
int store_model_init (struct store_model *m, struct store *store);
void store_model_fini (struct store_model *m);
/* Begin again with another store of the same size, which is empty. */
void store_model_restart (struct store_model *m, struct store *store);

/* Go on with another store, which is to have what the last one had. */
void store_model_adopt (struct store_model *m, struct store *store);

/* Ranges must lie within the device. */
const char *model_write (struct store_model *m, const void *data, size_t len,
                         uint64_t offset);
const char *model_read (struct store_model *m, size_t len, uint64_t offset);
const char *model_trim (struct store_model *m, uint64_t len, uint64_t offset);
const char *model_zero (struct store_model *m, uint64_t len, uint64_t offset);
const char *model_extents (struct store_model *m, uint64_t len,
                           uint64_t offset);
const char *model_compact (struct store_model *m);
const char *model_limit (struct store_model *m, uint64_t bytes);

/* The whole content, and the figures that follow from it. */
const char *model_check (struct store_model *m);

#endif /* STORE_MODEL_H */
