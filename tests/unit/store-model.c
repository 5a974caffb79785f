/* SPDX-License-Identifier: BSD-3-Clause */
/* A store against a plain array; see store-model.h. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helpers.h"
#include "store-model.h"

#define PAGE ZSPAGE_PAGE_SIZE
#define ULL  unsigned long long

/* Read at once in a check of everything. */
#define CHECK_PAGES 32

#define WRONG(m, ...)                                                          \
  (snprintf ((m)->why, sizeof (m)->why, __VA_ARGS__), (m)->why)

int
store_model_init (struct store_model *m, struct store *store)
{
  memset (m, 0, sizeof *m);
  m->store = store;
  m->bytes = store_disksize (store);
  m->nr_pages = m->bytes / PAGE;
  m->data = calloc (1, m->bytes);
  m->stored = calloc (m->nr_pages, sizeof *m->stored);
  m->buf = malloc (m->bytes);
  if (m->data && m->stored && m->buf)
    return 0;
  store_model_fini (m);
  return -ENOMEM;
}

void
store_model_fini (struct store_model *m)
{
  free (m->data);
  free (m->stored);
  free (m->buf);
}

void
store_model_restart (struct store_model *m, struct store *store)
{
  uint64_t idx;

  m->store = store;
  m->may_fail = false;
  m->failed = 0;
  for (idx = 0; idx < m->nr_pages; ++idx) {
    if (m->stored[idx])
      memset (m->data + idx * PAGE, 0, PAGE);
    m->stored[idx] = false;
  }
}

void
store_model_adopt (struct store_model *m, struct store *store)
{
  m->store = store;
}

static bool
reads_as_zeros (const struct store_model *m, uint64_t idx)
{
  return page_is_zero (m->data + idx * PAGE);
}

static struct store_stats
stats (const struct store_model *m)
{
  struct store_stats s;

  store_stats (m->store, &s);
  return s;
}

/* Memory grows only up to the limit. */
static const char *
check_limit (struct store_model *m, const struct store_stats *before)
{
  struct store_stats now = stats (m);

  if (now.mem_limit > 0 && now.mem_used_total > now.mem_limit &&
      now.mem_used_total > before->mem_used_total)
    return WRONG (m, "%llu bytes used, above the limit of %llu",
                  (ULL) now.mem_used_total, (ULL) now.mem_limit);
  return NULL;
}

const char *
model_read (struct store_model *m, size_t len, uint64_t offset)
{
  size_t i;
  int r;

  memset (m->buf, 0xa5, len);
  r = store_read (m->store, m->buf, len, offset);
  if (r < 0)
    return WRONG (m, "read %zu at %llu: %s", len, (ULL) offset, strerror (-r));
  if (memcmp (m->buf, m->data + offset, len) == 0)
    return NULL;
  for (i = 0; m->buf[i] == m->data[offset + i]; ++i)
    ;
  return WRONG (m, "read %zu at %llu: byte %llu is %02x, not %02x", len,
                (ULL) offset, (ULL) (offset + i), m->buf[i],
                m->data[offset + i]);
}

/* Read the pages that a range touches. */
static const char *
read_around (struct store_model *m, uint64_t len, uint64_t offset)
{
  uint64_t first = offset / PAGE * PAGE;
  uint64_t end = zspage_align_up (offset + len, PAGE);

  return model_read (m, end - first, first);
}

static void
apply_write (struct store_model *m, const void *data, size_t len,
             uint64_t offset)
{
  uint64_t idx;

  if (len == 0)
    return;
  memcpy (m->data + offset, data, len);
  for (idx = offset / PAGE; idx <= (offset + len - 1) / PAGE; ++idx)
    m->stored[idx] = true;
}

const char *
model_write (struct store_model *m, const void *data, size_t len,
             uint64_t offset)
{
  struct store_stats before = stats (m);
  uint64_t pages = (offset + len + PAGE - 1) / PAGE - offset / PAGE;
  uint64_t failed, done;
  int r = store_write (m->store, data, len, offset);
  const char *why;

  failed = stats (m).failed_writes - before.failed_writes;
  if (r == 0) {
    if (failed != 0)
      return WRONG (m, "a write succeeded and counted as failed");
    apply_write (m, data, len, offset);
    return check_limit (m, &before);
  }
  if (r != -ENOSPC || !m->may_fail)
    return WRONG (m, "write %zu at %llu: %s", len, (ULL) offset, strerror (-r));
  m->failed++;
  if (failed == 0 || failed > pages)
    return WRONG (m, "a write of %llu pages failed, %llu are counted",
                  (ULL) pages, (ULL) failed);
  done = pages - failed;
  if (done > 0)
    apply_write (m, data, done * PAGE - offset % PAGE, offset);
  why = check_limit (m, &before);
  return why ? why : read_around (m, len, offset);
}

static void
apply_trim (struct store_model *m, uint64_t len, uint64_t offset)
{
  uint64_t idx = (offset + PAGE - 1) / PAGE, end = (offset + len) / PAGE;

  for (; idx < end; ++idx) {
    memset (m->data + idx * PAGE, 0, PAGE);
    m->stored[idx] = false;
  }
}

const char *
model_trim (struct store_model *m, uint64_t len, uint64_t offset)
{
  int r = store_trim (m->store, len, offset);

  if (r < 0)
    return WRONG (m, "trim %llu at %llu: %s", (ULL) len, (ULL) offset,
                  strerror (-r));
  apply_trim (m, len, offset);
  return NULL;
}

/* Zero a part of a page.  If nothing is left in it, it counts no more; but
 * zeros that were written before do.
 */
static void
apply_zero_part (struct store_model *m, uint64_t len, uint64_t offset)
{
  uint64_t idx = offset / PAGE;

  if (len == 0 || reads_as_zeros (m, idx))
    return;
  memset (m->data + offset, 0, len);
  if (reads_as_zeros (m, idx))
    m->stored[idx] = false;
}

/* What a zero does up to a page boundary, or to its end. */
static void
apply_zero (struct store_model *m, uint64_t len, uint64_t offset)
{
  uint64_t end = offset + len;
  uint64_t head = zspage_align_up (offset, PAGE);
  uint64_t tail = end / PAGE * PAGE;

  if (head > end)
    head = end;
  apply_trim (m, len, offset);
  apply_zero_part (m, head - offset, offset);
  if (tail >= head)
    apply_zero_part (m, end - tail, tail);
}

const char *
model_zero (struct store_model *m, uint64_t len, uint64_t offset)
{
  struct store_stats before = stats (m);
  uint64_t first = offset / PAGE, last = (offset + len) / PAGE;
  bool has_head = offset % PAGE != 0 && len > 0;
  int r = store_zero (m->store, len, offset);
  uint64_t failed = stats (m).failed_writes - before.failed_writes;
  const char *why;

  if (r < 0 && (r != -ENOSPC || !m->may_fail))
    return WRONG (m, "zero %llu at %llu: %s", (ULL) len, (ULL) offset,
                  strerror (-r));
  if (failed != (r < 0))
    return WRONG (m, "zero: %llu failed writes are counted", (ULL) failed);
  why = check_limit (m, &before);
  if (why)
    return why;
  if (r == 0) {
    apply_zero (m, len, offset);
    return NULL;
  }
  m->failed++;
  /* The head failed, and nothing was done; or else the tail did, alone. */
  if (has_head && read_around (m, len, offset) == NULL)
    return NULL;
  if (first == last || (offset + len) % PAGE == 0)
    return WRONG (m, "a zero failed and did something");
  apply_zero (m, last * PAGE - offset, offset);
  return read_around (m, len, offset);
}

struct cursor {
  struct store_model *m;
  uint64_t at, end;
  int last;
  const char *why;
};

static bool
check_extent (void *opaque, uint64_t offset, uint64_t len, bool zero)
{
  struct cursor *c = opaque;
  struct store_model *m = c->m;
  uint64_t idx;

  if (offset != c->at || len == 0 || len > c->end - offset ||
      c->last == (int) zero) {
    c->why = WRONG (m, "extent of %llu at %llu: not in order, or not joined",
                    (ULL) len, (ULL) offset);
    return false;
  }
  for (idx = offset / PAGE; idx <= (offset + len - 1) / PAGE; ++idx) {
    if (reads_as_zeros (m, idx) != zero) {
      c->why = WRONG (m, "extent of %llu at %llu: page %llu is %szero",
                      (ULL) len, (ULL) offset, (ULL) idx, zero ? "not " : "");
      return false;
    }
  }
  c->at += len;
  c->last = zero;
  return true;
}

const char *
model_extents (struct store_model *m, uint64_t len, uint64_t offset)
{
  struct cursor c = {.m = m, .at = offset, .end = offset + len, .last = -1};
  int r = store_extents (m->store, len, offset, check_extent, &c);

  if (r < 0)
    return WRONG (m, "extents %llu at %llu: %s", (ULL) len, (ULL) offset,
                  strerror (-r));
  if (c.why)
    return c.why;
  if (c.at != c.end)
    return WRONG (m, "extents end at %llu, not %llu", (ULL) c.at, (ULL) c.end);
  return NULL;
}

const char *
model_compact (struct store_model *m)
{
  struct store_stats before = stats (m), after;
  uint64_t freed = store_compact (m->store) * PAGE;

  after = stats (m);
  if (after.freeable != 0)
    return WRONG (m, "compaction left %llu freeable", (ULL) after.freeable);
  if (freed != before.freeable ||
      freed != before.mem_used_total - after.mem_used_total)
    return WRONG (m, "compaction freed %llu of %llu freeable, %llu is gone",
                  (ULL) freed, (ULL) before.freeable,
                  (ULL) (before.mem_used_total - after.mem_used_total));
  return NULL;
}

const char *
model_limit (struct store_model *m, uint64_t bytes)
{
  uint64_t limit = zspage_align_up (bytes, PAGE);

  store_set_mem_limit (m->store, bytes);
  if (stats (m).mem_limit != limit)
    return WRONG (m, "the limit was not set");
  return NULL;
}

const char *
model_check (struct store_model *m)
{
  struct store_stats s = stats (m);
  uint64_t idx, stored = 0, same = 0;
  const char *why;

  why = model_extents (m, m->bytes, 0);
  for (idx = 0; idx < m->nr_pages && why == NULL; idx += CHECK_PAGES) {
    uint64_t n = m->nr_pages - idx;

    why =
      model_read (m, (n < CHECK_PAGES ? n : CHECK_PAGES) * PAGE, idx * PAGE);
  }
  if (why)
    return why;
  for (idx = 0; idx < m->nr_pages; ++idx) {
    uint64_t value;

    stored += m->stored[idx];
    same += m->stored[idx] && codec_same_filled (m->data + idx * PAGE, &value);
  }
  if (s.orig_data_size != stored * PAGE)
    return WRONG (m, "orig_data_size is %llu pages, not %llu",
                  (ULL) s.orig_data_size / PAGE, (ULL) stored);
  if (s.same_pages != same)
    return WRONG (m, "same_pages is %llu, not %llu", (ULL) s.same_pages,
                  (ULL) same);
  if (s.mem_used_max < s.mem_used_total)
    return WRONG (m, "mem_used_max is below mem_used_total");
  if (s.compr_data_size > s.mem_used_total)
    return WRONG (m, "compr_data_size is above mem_used_total");
  return NULL;
}
