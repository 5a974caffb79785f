/* SPDX-License-Identifier: BSD-3-Clause */
/* A store driven by bytes, compared with a plain array.
 *
 *   byte 0     codec (bit 0), chain size 4..16 (the rest)
 *   then       operations: one byte what, then what it needs
 *     write    page (2), offset in it (2), length (2), kind (1), seed (1)
 *     read, trim, zero, extents    page (2), offset in it (2), length (2)
 *     compact
 *     limit    pages (1), 0 = none
 *     memory   calls to populate until they fail (1), 0 = they do not
 *     release  whether it fails (1)
 */
#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail-ops.h"
#include "fuzz.h"
#include "helpers.h"
#include "store-fixture.h"
#include "store-model.h"

/* Some pages of the table in use in part; small, as each input has one. */
#define NR_PAGES (512 + 30)
#define MAX_LEN  (12 * 1024u)

struct input {
  const uint8_t *p, *end;
};

static unsigned
byte (struct input *in)
{
  return in->p < in->end ? *in->p++ : 0;
}

static unsigned
two_bytes (struct input *in)
{
  unsigned low = byte (in);

  return low | byte (in) << 8;
}

struct range {
  uint64_t offset;
  size_t len;
};

static struct range
range (struct input *in)
{
  struct range r;

  r.offset = (uint64_t) (two_bytes (in) % NR_PAGES) * PAGE;
  r.offset += two_bytes (in) % PAGE;
  r.len = two_bytes (in) % MAX_LEN;
  if (r.len > NR_PAGES * (uint64_t) PAGE - r.offset)
    r.len = NR_PAGES * (uint64_t) PAGE - r.offset;
  return r;
}

static const char *
write_op (struct store_model *m, struct input *in)
{
  static uint8_t data[MAX_LEN + PAGE];
  struct range r = range (in);
  unsigned kind = byte (in);
  struct rng rng = {byte (in)};
  size_t i;

  for (i = 0; i < r.len; i += PAGE)
    page_make (kind < 128 ? kind % PAGE_KINDS : rng_below (&rng, PAGE_KINDS),
               &rng, data + i);
  return model_write (m, data, r.len, r.offset);
}

static void
set_memory (unsigned calls)
{
  fail_ops.populates = 0;
  fail_ops.fail_count = LONG_MAX;
  fail_ops.fail_from = calls;
}

static const char *
one_op (struct store_model *m, struct input *in)
{
  unsigned op = byte (in) % 16;
  struct range r;

  switch (op) {
  case 0:
    return model_compact (m);
  case 1:
    return model_limit (m, (uint64_t) byte (in) * PAGE);
  case 2:
    set_memory (byte (in));
    return NULL;
  case 3:
    /* Both at once for ever is a test of its own. */
    fail_ops.fail_releases = byte (in) % 2 && fail_ops.fail_from == 0;
    return NULL;
  case 4:
    r = range (in);
    return model_read (m, r.len, r.offset);
  case 5:
  case 6:
    r = range (in);
    return model_trim (
      m, r.len * 64 > m->bytes - r.offset ? m->bytes - r.offset : r.len * 64,
      r.offset);
  case 7:
    r = range (in);
    return model_trim (m, r.len, r.offset);
  case 8:
    r = range (in);
    return model_zero (m, r.len, r.offset);
  case 9:
    r = range (in);
    return model_extents (m, m->bytes - r.offset, r.offset);
  default:
    return write_op (m, in);
  }
}

static void
must_be_null (const char *why)
{
  if (why) {
    fprintf (stderr, "fuzz-store: %s\n", why);
    abort ();
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static struct codec_pool *pools[CODEC_COUNT];
  struct input in = {data, data + size};
  unsigned first = byte (&in);
  struct store_config config = {.name = "fuzz",
                                .disksize = NR_PAGES * PAGE,
                                .chain_size = 4 + first / 2 % 13,
                                .reserve_pages = 2,
                                .ops = &fail_arena_ops};
  static struct store_model m;
  struct store *store;
  int i;

  fail_ops_reset ();
  for (i = 0; i < CODEC_COUNT && pools[i] == NULL; ++i)
    if (codec_pool_create (i, codec_levels (i).dflt, 1, &pools[i]) < 0)
      abort ();
  config.codec = pools[first % CODEC_COUNT];
  if (store_create (&config, &store) < 0)
    abort ();
  if (m.data)
    store_model_restart (&m, store);
  else if (store_model_init (&m, store) < 0)
    abort ();
  while (in.p < in.end) {
    m.may_fail =
      fail_ops.fail_from > 0 || store_stats_now (store).mem_limit > 0;
    /* One kind of failure at a time. */
    if (fail_ops.fail_from > 0)
      fail_ops.fail_releases = false;
    must_be_null (one_op (&m, &in));
  }
  must_be_null (model_check (&m));
  must_be_null (store_check_why (store));
  store_destroy (store);
  return 0;
}
