/* SPDX-License-Identifier: BSD-3-Clause */
/* nbd-do URI COMMAND...: do things on one connection, for the test scripts.
 * Each argument is a command:
 *
 *   read OFFSET LEN DATA         and compare
 *   write OFFSET LEN DATA [fua]
 *   trim OFFSET LEN [fua]
 *   zero OFFSET LEN [fua] [no-hole] [fast]
 *   flush
 *   sleep MS
 *   say WORD                     print it, to tell how far this is
 *
 * DATA is 0xNN (that byte), random:SEED or text:SEED; see client.h.  Numbers
 * may end in K, M, G or T.  Before a command may stand, in this order:
 *
 *   fails ERRNO                  it must, with that error, and the connection
 *                                must outlive it; ERRNO can be `any'
 *   until ERRNO                  repeat `each' until it fails so, and print
 *                                how many bytes from OFFSET on that took
 *   each STEP                    in pieces of STEP bytes
 *
 * Exit status 0 if everything went as told, otherwise 1 and a message.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "client.h"

#define MAX_WORDS 16

static const struct {
  const char *name;
  int value;
} errors[] = {
  {"any", 0},         {"EPERM", EPERM},   {"EIO", EIO},
  {"EINVAL", EINVAL}, {"ENOSPC", ENOSPC}, {"ENOTSUP", ENOTSUP},
  {"ENOMEM", ENOMEM},
};

static const struct {
  const char *name;
  uint32_t flag;
} flags[] = {
  {"fua", LIBNBD_CMD_FLAG_FUA},
  {"no-hole", LIBNBD_CMD_FLAG_NO_HOLE},
  {"fast", LIBNBD_CMD_FLAG_FAST_ZERO},
};

#define NR(array) (sizeof array / sizeof array[0])

struct command {
  const char *text; /* all of it, for messages */
  char *words[MAX_WORDS];
  unsigned nr_words, at;
  bool fails, until;
  int error; /* that is expected; 0: any */
  uint64_t step;
  uint64_t offset, len;
  struct data data;
  uint32_t flags;
};

static const char *
next_word (struct command *c, const char *what)
{
  if (c->at == c->nr_words)
    DIE ("'%s': %s is missing", c->text, what);
  return c->words[c->at++];
}

static bool
skip_word (struct command *c, const char *word)
{
  if (c->at < c->nr_words && strcmp (c->words[c->at], word) == 0) {
    c->at++;
    return true;
  }
  return false;
}

static int
parse_error (struct command *c)
{
  const char *name = next_word (c, "an error");
  size_t i;

  for (i = 0; i < NR (errors); ++i)
    if (strcmp (errors[i].name, name) == 0)
      return errors[i].value;
  DIE ("'%s': unknown error '%s'", c->text, name);
}

static struct data
parse_data (struct command *c)
{
  const char *word = next_word (c, "DATA");

  if (strncmp (word, "random:", 7) == 0)
    return (struct data){DATA_RANDOM, parse_number (word + 7)};
  if (strncmp (word, "text:", 5) == 0)
    return (struct data){DATA_TEXT, parse_number (word + 5)};
  return (struct data){DATA_FILL, parse_number (word)};
}

static uint32_t
parse_flags (struct command *c)
{
  uint32_t set = 0;
  size_t i;

  while (c->at < c->nr_words) {
    const char *word = next_word (c, "a flag");

    for (i = 0; i < NR (flags) && strcmp (flags[i].name, word) != 0; ++i)
      ;
    if (i == NR (flags))
      DIE ("'%s': unknown word '%s'", c->text, word);
    set |= flags[i].flag;
  }
  return set;
}

static int
do_one (struct nbd_handle *nbd, const struct command *c, uint64_t offset,
        uint64_t len, const char *verb)
{
  uint8_t *buf, *want;
  int r;

  if (strcmp (verb, "trim") == 0)
    return nbd_trim (nbd, len, offset, c->flags);
  if (strcmp (verb, "zero") == 0)
    return nbd_zero (nbd, len, offset, c->flags);

  buf = xmalloc (len);
  if (strcmp (verb, "write") == 0) {
    data_make (&c->data, buf, offset, len);
    r = nbd_pwrite (nbd, buf, len, offset, c->flags);
  }
  else {
    want = xmalloc (len);
    data_make (&c->data, want, offset, len);
    r = nbd_pread (nbd, buf, len, offset, 0);
    if (r == 0)
      data_compare (buf, want, len, offset, c->text);
    free (want);
  }
  free (buf);
  return r;
}

/* Whether a failed request failed as told. */
static void
check_error (struct nbd_handle *nbd, const struct command *c)
{
  int err = nbd_get_errno ();

  if (c->error != 0 && err != c->error)
    DIE ("'%s': failed, but with: %s", c->text, nbd_get_error ());
  if (nbd_aio_is_dead (nbd) || nbd_aio_is_closed (nbd))
    DIE ("'%s': the server closed the connection", c->text);
}

static void
do_range (struct nbd_handle *nbd, const struct command *c, const char *verb)
{
  uint64_t done = 0;

  while (done < c->len) {
    uint64_t n = c->len - done < c->step ? c->len - done : c->step;
    int r = do_one (nbd, c, c->offset + done, n, verb);

    if (r == 0 && c->fails)
      DIE ("'%s': should have failed", c->text);
    if (r == -1) {
      if (!c->fails && !c->until)
        DIE ("'%s': %s", c->text, nbd_get_error ());
      check_error (nbd, c);
      if (c->until) {
        printf ("%" PRIu64 "\n", done);
        return;
      }
    }
    done += n;
  }
  if (c->until)
    DIE ("'%s': never failed", c->text);
}

static void
do_command (struct nbd_handle *nbd, struct command *c)
{
  const char *verb;

  c->fails = skip_word (c, "fails");
  if (!c->fails)
    c->until = skip_word (c, "until");
  if (c->fails || c->until)
    c->error = parse_error (c);
  c->step =
    skip_word (c, "each") ? parse_number (next_word (c, "STEP")) : UINT64_MAX;

  verb = next_word (c, "a verb");
  if (strcmp (verb, "flush") == 0)
    NBD (nbd_flush (nbd, 0));
  else if (strcmp (verb, "sleep") == 0) {
    uint64_t ms = parse_number (next_word (c, "MS"));
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

    nanosleep (&ts, NULL);
  }
  else if (strcmp (verb, "say") == 0) {
    puts (next_word (c, "WORD"));
    fflush (stdout);
  }
  else {
    bool reads = strcmp (verb, "read") == 0;
    bool writes = strcmp (verb, "write") == 0;

    if (!reads && !writes && strcmp (verb, "trim") != 0 &&
        strcmp (verb, "zero") != 0)
      DIE ("'%s': unknown verb '%s'", c->text, verb);
    c->offset = parse_number (next_word (c, "OFFSET"));
    c->len = parse_number (next_word (c, "LEN"));
    if (reads || writes)
      c->data = parse_data (c);
    c->flags = parse_flags (c);
    do_range (nbd, c, verb);
  }
}

int
main (int argc, char *argv[])
{
  struct nbd_handle *nbd;
  int i;

  if (argc < 3)
    DIE ("usage: nbd-do URI COMMAND...");
  nbd = client_connect (argv[1]);
  for (i = 2; i < argc; ++i) {
    struct command c = {.text = argv[i]};
    char *copy = strdup (argv[i]), *save, *word;

    for (word = strtok_r (copy, " ", &save); word && c.nr_words < MAX_WORDS;
         word = strtok_r (NULL, " ", &save))
      c.words[c.nr_words++] = word;
    do_command (nbd, &c);
    free (copy);
  }
  client_close (nbd);
  return 0;
}
