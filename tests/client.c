/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NBD test programs share; see client.h. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "client.h"

static uint64_t
mix (uint64_t z)
{
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

uint64_t
rng_next (uint64_t *state)
{
  *state += UINT64_C (0x9e3779b97f4a7c15);
  return mix (*state);
}

uint64_t
rng_below (uint64_t *state, uint64_t below)
{
  return rng_next (state) % below;
}

/* The eight bytes of the device at 8 * at. */
static uint64_t
data_word (const struct data *data, uint64_t at)
{
  const uint64_t step = UINT64_C (0x9e3779b97f4a7c15);

  switch (data->kind) {
  case DATA_RANDOM:
    return mix ((data->seed << 44) + (at + 1) * step);
  case DATA_TEXT:
    /* The same word for a while: from 2 to 9 of them in 128 bytes. */
    at = at / 16 * 16 + at % 16 / (2 + at / 512 % 7);
    return mix ((data->seed << 44) + (at + 1) * step) |
           UINT64_C (0x2020202020202020);
  default:
    return data->seed * UINT64_C (0x0101010101010101);
  }
}

void
data_make (const struct data *data, void *buf, uint64_t offset, size_t len)
{
  uint8_t *p = buf;
  uint64_t word;

  while (len > 0) {
    size_t within = offset % 8, n = 8 - within;

    if (n > len)
      n = len;
    word = data_word (data, offset / 8);
    memcpy (p, (uint8_t *) &word + within, n);
    p += n;
    offset += n;
    len -= n;
  }
}

void
data_compare (const void *got, const void *want, size_t len, uint64_t offset,
              const char *what)
{
  const uint8_t *g = got, *w = want;
  size_t i = 0;

  if (memcmp (got, want, len) == 0)
    return;
  while (g[i] == w[i])
    i++;
  DIE ("%s: byte %" PRIu64 " of the device is 0x%02x and should be 0x%02x"
       " (%zu bytes from offset %" PRIu64 ")",
       what, offset + i, g[i], w[i], len, offset);
}

void *
xmalloc (size_t len)
{
  void *p = malloc (len);

  if (p == NULL)
    DIE ("no memory for %zu bytes", len);
  return p;
}

void *
xcalloc (size_t len)
{
  void *p = calloc (1, len);

  if (p == NULL)
    DIE ("no memory for %zu bytes", len);
  return p;
}

struct nbd_handle *
client_connect (const char *uri)
{
  struct nbd_handle *nbd = nbd_create ();

  if (nbd == NULL)
    DIE ("%s", nbd_get_error ());
  NBD (nbd_set_strict_mode (nbd, 0));
  NBD (nbd_add_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION));
  NBD (nbd_connect_uri (nbd, uri));
  return nbd;
}

void
client_close (struct nbd_handle *nbd)
{
  NBD (nbd_shutdown (nbd, 0));
  nbd_close (nbd);
}

uint64_t
parse_number (const char *text)
{
  static const char suffixes[] = "KMGT";
  const char *suffix;
  char *end;
  uint64_t n;

  errno = 0;
  n = strtoull (text, &end, 0);
  if (errno != 0 || end == text || !isdigit ((unsigned char) text[0]))
    DIE ("'%s' is not a number", text);
  if (*end != '\0') {
    suffix = strchr (suffixes, *end);
    if (suffix == NULL || end[1] != '\0')
      DIE ("'%s' is not a number", text);
    n <<= 10 * (suffix - suffixes + 1);
  }
  return n;
}

uint64_t
now_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return (uint64_t) ts.tv_sec * 1000000000 + ts.tv_nsec;
}
