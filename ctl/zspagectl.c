/* SPDX-License-Identifier: BSD-3-Clause */

/* zspagectl: looks at and controls a server of zspage devices, over the
 * socket that its stats= option opens.
 *
 * This file owns the command line: the table of verbs, the table of options,
 * help made of both, and the end of the process.  Each verb is in the file
 * named after its idea.
 */

#include <config.h>

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "args.h"
#include "attributes.h"
#include "message.h"
#include "verbs.h"

enum option_id {
  OPT_SOCKET,
  OPT_OUTPUT,
  OPT_OUTPUT_ALL,
  OPT_BYTES,
  OPT_NOHEADINGS,
  OPT_RAW,
  OPT_JSON,
  OPT_INTERVAL,
  OPT_COUNT,
  OPT_YES,
  OPT_PID,
  OPT_FILE,
  OPT_MAX_PAGES,
  OPT_EXPORT,
  OPT_TRAIN,
  OPT_HELP,
  OPT_VERSION,
  NR_OPTIONS
};
#define BIT(id) (1u << (id))

static const struct option_row {
  const char *name;
  char letter; /* 0: none */
  const char *arg;
  const char *help;
} option_rows[NR_OPTIONS] = {
  [OPT_SOCKET] = {"socket", 's', "ADDR",
                  "the server: PATH, unix:PATH or tcp:127.0.0.1:PORT"},
  [OPT_OUTPUT] = {"output", 'o', "LIST",
                  "columns to print; +LIST: besides the usual ones"},
  [OPT_OUTPUT_ALL] = {"output-all", 0, NULL, "print all columns"},
  [OPT_BYTES] = {"bytes", 'b', NULL, "print sizes in bytes"},
  [OPT_NOHEADINGS] = {"noheadings", 'n', NULL, "print no headings"},
  [OPT_RAW] = {"raw", 0, NULL, "print one space between columns"},
  [OPT_JSON] = {"json", 'J', NULL, "print JSON, sizes in bytes"},
  [OPT_INTERVAL] = {"interval", 'i', "S",
                    "seconds, or as 500ms or 1m, between looks [2]"},
  [OPT_COUNT] = {"count", 'c', "N", "end after N looks"},
  [OPT_YES] = {"yes", 'y', NULL, "yes, lose the data"},
  [OPT_PID] = {"pid", 0, "PID", "take the pages of this process"},
  [OPT_FILE] = {"file", 0, "FILE", "take the pages of this file"},
  [OPT_MAX_PAGES] = {"max-pages", 0, "N",
                     "take at most N pages [65536, if memory allows]"},
  [OPT_EXPORT] = {"export", 0, "FILE", "write the newest dictionary to FILE"},
  [OPT_TRAIN] = {"train", 0, NULL, "look for a better dictionary now"},
  [OPT_HELP] = {"help", 'h', NULL, "print this"},
  [OPT_VERSION] = {"version", 'V', NULL, "print the version"},
};

#define SERVER (BIT (OPT_SOCKET))
#define STYLE  (BIT (OPT_BYTES) | BIT (OPT_NOHEADINGS) | BIT (OPT_RAW))
#define COLS   (BIT (OPT_OUTPUT) | BIT (OPT_OUTPUT_ALL))
#define ALWAYS (BIT (OPT_HELP) | BIT (OPT_VERSION))

static int help (const struct ctl_invocation *inv);

static const struct verb {
  const char *name;
  const char *args;
  int min_args, max_args; /* INT_MAX: any number */
  unsigned options;       /* besides ALWAYS; SERVER: it asks one */
  ctl_verb_fn *run;
  const char *help;
} verbs[] = {
  {"list", "[DEVICE...]", 0, INT_MAX, SERVER | COLS | STYLE | BIT (OPT_JSON),
   ctl_list, "print a table of devices; what happens without a verb"},
  {"show", "[DEVICE...]", 0, INT_MAX, SERVER | BIT (OPT_BYTES), ctl_show,
   "print each figure, and what it means"},
  {"get", "DEVICE ATTRIBUTE", 2, 2, SERVER, ctl_get,
   "print an attribute as the server, and zram, has it"},
  {"set", "DEVICE ATTRIBUTE VALUE", 3, 3, SERVER | BIT (OPT_YES), ctl_set,
   "change an attribute"},
  {"compact", "[DEVICE...]", 0, INT_MAX, SERVER, ctl_compact,
   "give back memory that is lost in packing; wait for it"},
  {"recompress",
   "DEVICE [type=idle|huge|huge_idle] [threshold=N] "
   "[max_pages=N]",
   1, INT_MAX, SERVER, ctl_recompress,
   "recompress such pages, or all, now; wait for it"},
  {"dictionary", "DEVICE", 1, 1, SERVER | BIT (OPT_EXPORT) | BIT (OPT_TRAIN),
   ctl_dictionary, "print the dictionaries of a device"},
  {"idle", "DEVICE", 1, 1, SERVER, ctl_idle,
   "mark each page idle, until it is used"},
  {"reset", "DEVICE", 1, 1, SERVER | BIT (OPT_YES), ctl_reset,
   "forget all pages; needs --yes, and that nobody uses it"},
  {"state", "[DEVICE...]", 0, INT_MAX, SERVER, ctl_state,
   "print which file keeps the pages, and what was found in it"},
  {"check", "FILE", 1, 1, 0, ctl_check,
   "look whether a state file, of no running server, is whole"},
  {"classes", "DEVICE", 1, 1, SERVER | BIT (OPT_NOHEADINGS), ctl_classes,
   "print the size classes that have memory"},
  {"watch", "[DEVICE...]", 0, INT_MAX,
   SERVER | COLS | STYLE | BIT (OPT_INTERVAL) | BIT (OPT_COUNT), ctl_watch,
   "print the table again and again"},
  {"estimate", "--pid=PID|--file=FILE", 0, 0,
   STYLE | BIT (OPT_JSON) | BIT (OPT_PID) | BIT (OPT_FILE) |
     BIT (OPT_MAX_PAGES),
   ctl_estimate, "find out what these pages would take, by each algorithm"},
  {"help", "[VERB]", 0, 1, 0, help, "print this, or the help of a verb"},
};
#define NR_VERBS (sizeof verbs / sizeof verbs[0])

static void
print_options (unsigned set)
{
  unsigned i;

  puts ("\nOptions:");
  for (i = 0; i < NR_OPTIONS; i++) {
    const struct option_row *row = &option_rows[i];
    char name[40];

    if ((set & BIT (i)) == 0)
      continue;
    snprintf (name, sizeof name, "--%s%s%s", row->name,
              row->arg != NULL ? "=" : "", row->arg != NULL ? row->arg : "");
    if (row->letter != 0)
      printf ("  -%c, %-18s %s\n", row->letter, name, row->help);
    else
      printf ("      %-18s %s\n", name, row->help);
  }
}

static void
print_columns (void)
{
  const struct ctl_figure *f;
  int subject = -1;

  for (f = ctl_figures; f->column != NULL; f++) {
    if ((int) f->subject != subject) {
      subject = (int) f->subject;
      printf ("\nColumns: %s\n", ctl_subject_title (f->subject));
    }
    printf ("  %-14s %s\n", f->column, f->help);
  }
}

static void
print_attributes (void)
{
  const struct ctl_attribute *a;

  puts ("\nAttributes, got (g) and set (s):");
  for (a = ctl_attributes; a->name != NULL; a++)
    printf ("  %-16s %c%c  %s\n", a->name, a->can_get ? 'g' : '-',
            a->can_set ? 's' : '-', a->help);
}

static void
print_server (void)
{
  puts (
    "\nThe server is started with stats=unix:PATH or stats=tcp:ADDRESS:PORT."
    "\nWithout --socket it is asked where $ZSPAGE_STATS says, or else at\n"
    "  " STATS_SOCKET);
}

static int
help_all (void)
{
  size_t i;

  puts ("Usage: zspagectl [OPTION]... [VERB [ARGUMENT]...]\n\n"
        "Looks at and controls devices of compressed memory, served by "
        "nbdkit-zspage.\n\nVerbs:");
  for (i = 0; i < NR_VERBS; i++)
    printf ("  %s %s\n          %s\n", verbs[i].name, verbs[i].args,
            verbs[i].help);
  print_options (~0u);
  print_columns ();
  print_attributes ();
  print_server ();
  puts ("\nExit status: 0 it is done, 1 it failed, 2 it was asked wrongly.");
  return 0;
}

static int
help_verb (const struct verb *verb)
{
  printf ("Usage: zspagectl %s [OPTION]... %s\n\n%c%s.\n", verb->name,
          verb->args, toupper ((unsigned char) verb->help[0]), verb->help + 1);
  print_options (verb->options | ALWAYS);
  if (verb->options & COLS)
    print_columns ();
  if (verb->run == ctl_get || verb->run == ctl_set)
    print_attributes ();
  if (verb->options & SERVER)
    print_server ();
  return 0;
}

static const struct verb *
find_verb (const char *name)
{
  size_t i;

  for (i = 0; i < NR_VERBS; i++) {
    if (strcmp (verbs[i].name, name) == 0)
      return &verbs[i];
  }
  return NULL;
}

static int
fail_no_verb (const char *name)
{
  return ctl_usage ("%s: no such verb; 'zspagectl --help' lists them", name);
}

static int
help (const struct ctl_invocation *inv)
{
  const struct verb *verb;

  if (inv->nr_args == 0)
    return help_all ();
  verb = find_verb (inv->args[0]);
  return verb != NULL ? help_verb (verb) : fail_no_verb (inv->args[0]);
}

/* Seconds with a fraction, or a number with ms, s or m after it; from 100 ms
 * to a day.
 */
static int
parse_interval (const char *text, uint32_t *ms)
{
  static const struct {
    const char *unit;
    double ms;
  } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}};
  double n;
  char *end;
  size_t i;

  if (!isdigit ((unsigned char) text[0]))
    return -1;
  n = strtod (text, &end);
  for (i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strcmp (end, units[i].unit) != 0)
      continue;
    n *= units[i].ms;
    if (!(n >= 100 && n <= 86400e3))
      return -1;
    *ms = (uint32_t) n;
    return 0;
  }
  return -1;
}

struct command_line {
  struct ctl_invocation inv;
  const char *socket;
  const char *columns;
  unsigned given; /* bits of options */
  char **words;   /* what is no option, in argv's own memory */
  int nr_words;
};

static int
bad_option (enum option_id id, const char *needed)
{
  return ctl_usage ("--%s=%s: %s is needed", option_rows[id].name, optarg,
                    needed);
}

static int
take_option (struct command_line *cl, enum option_id id)
{
  struct ctl_invocation *inv = &cl->inv;
  uint64_t n;

  cl->given |= BIT (id);
  switch (id) {
  case OPT_SOCKET:
    cl->socket = optarg;
    break;
  case OPT_OUTPUT:
    return ctl_columns_parse (optarg, &inv->columns);
  case OPT_OUTPUT_ALL:
    ctl_columns_all (&inv->columns);
    break;
  case OPT_BYTES:
    inv->style.bytes = true;
    break;
  case OPT_NOHEADINGS:
    inv->style.noheadings = true;
    break;
  case OPT_RAW:
    inv->style.raw = true;
    break;
  case OPT_JSON:
    inv->json = true;
    break;
  case OPT_INTERVAL:
    if (parse_interval (optarg, &inv->interval_ms) < 0)
      return bad_option (id, "a time from 100ms to 1440m");
    break;
  case OPT_COUNT:
    if (ctl_parse_decimal (optarg, UINT64_MAX, &inv->count) < 0 ||
        inv->count == 0)
      return bad_option (id, "a number from 1");
    break;
  case OPT_YES:
    inv->yes = true;
    break;
  case OPT_PID:
    if (ctl_parse_decimal (optarg, INT_MAX, &n) < 0 || n == 0)
      return bad_option (id, "the number of a process");
    inv->pid = (int) n;
    break;
  case OPT_FILE:
    inv->file = optarg;
    break;
  case OPT_MAX_PAGES:
    if (ctl_parse_decimal (optarg, UINT32_MAX, &inv->max_pages) < 0 ||
        inv->max_pages == 0)
      return bad_option (id, "a number from 1 to 4294967295");
    break;
  case OPT_EXPORT:
    inv->export = optarg;
    break;
  case OPT_TRAIN:
    inv->train = true;
    break;
  case OPT_HELP:
  case OPT_VERSION:
  case NR_OPTIONS:
    break;
  }
  return 0;
}

/* Whether this is no option.  No option is a digit: -1 is a bad value, of which
 * the server has more to say.
 */
static bool
is_word (const char *arg)
{
  return arg[0] != '-' || arg[1] == '\0' || isdigit ((unsigned char) arg[1]);
}

/* Options and words, in any order.  getopt's own tables are made of ours. */
static int
parse_options (struct command_line *cl, int argc, char *argv[])
{
  struct option longs[NR_OPTIONS + 1] = {{0}};
  char shorts[1 + 2 * NR_OPTIONS + 1], *s = shorts;
  int c, id, r;

  *s++ = '+'; /* which words are options is said here */
  for (id = 0; id < NR_OPTIONS; id++) {
    const struct option_row *row = &option_rows[id];

    longs[id] = (struct option){
      row->name, row->arg != NULL ? required_argument : no_argument, &c, id};
    if (row->letter != 0)
      *s++ = row->letter;
    if (row->letter != 0 && row->arg != NULL)
      *s++ = ':';
  }
  *s = '\0';
  /* Words go to the front, where options were read already. */
  cl->words = argv + 1;
  while (optind < argc) {
    int letter;

    if (is_word (argv[optind])) {
      cl->words[cl->nr_words++] = argv[optind++];
      continue;
    }
    letter = getopt_long (argc, argv, shorts, longs, NULL);
    if (letter == -1) /* -- */
      break;
    id = c;
    if (letter != 0) {
      for (id = 0; id < NR_OPTIONS && option_rows[id].letter != letter; id++)
        ;
    }
    if (id == NR_OPTIONS) /* getopt has complained */
      return ctl_usage ("'zspagectl --help' tells how it is used");
    r = take_option (cl, (enum option_id) id);
    if (r != 0)
      return r;
  }
  while (optind < argc)
    cl->words[cl->nr_words++] = argv[optind++];
  return 0;
}

static int
check_usage (const struct verb *verb, const struct command_line *cl)
{
  const unsigned wrong = cl->given & ~(verb->options | ALWAYS);
  unsigned id;

  for (id = 0; id < NR_OPTIONS; id++) {
    if (wrong & BIT (id))
      return ctl_usage ("%s: takes no --%s; 'zspagectl %s --help' tells how it "
                        "is used",
                        verb->name, option_rows[id].name, verb->name);
  }
  if (cl->inv.nr_args < verb->min_args || cl->inv.nr_args > verb->max_args)
    return ctl_usage ("usage: zspagectl %s [OPTION]... %s", verb->name,
                      verb->args);
  return 0;
}

static int
run (const struct verb *verb, struct command_line *cl)
{
  const char *text = cl->socket, *why;
  struct ctl_address address;
  int r;

  if ((verb->options & SERVER) == 0)
    return verb->run (&cl->inv);

  if (text == NULL)
    text = getenv ("ZSPAGE_STATS");
  if (text == NULL || (cl->socket == NULL && text[0] == '\0'))
    text = STATS_SOCKET;
  if (ctl_address_parse (text, &address, &why) < 0)
    return ctl_usage ("%s%s: %s", cl->socket != NULL ? "--socket=" : "", text,
                      why);
  cl->inv.client = ctl_client_create (&address);
  if (cl->inv.client == NULL)
    return ctl_fail ("libcurl does not start");
  r = verb->run (&cl->inv);
  ctl_client_destroy (cl->inv.client);
  return r;
}

/* What did not reach stdout must not look like success. */
static int
finish (int status)
{
  if ((fflush (stdout) == EOF || ferror (stdout)) && status == 0)
    return ctl_fail ("writing to stdout failed");
  return status;
}

int
main (int argc, char *argv[])
{
  struct command_line cl = {.inv.interval_ms = 2000};
  const struct verb *verb = &verbs[0];
  int r;

  /* Numbers are written in one way everywhere. */
  setlocale (LC_CTYPE, "");
  if (argc > 0)
    argv[0] = (char *) "zspagectl"; /* getopt complains by this name */
  ctl_columns_default (&cl.inv.columns);
  r = parse_options (&cl, argc, argv);
  if (r != 0)
    return r;
  if (cl.given & BIT (OPT_VERSION)) {
    puts ("zspagectl (" PACKAGE_NAME ") " PACKAGE_VERSION);
    return finish (0);
  }
  if (cl.nr_words > 0) {
    verb = find_verb (cl.words[0]);
    if (verb == NULL)
      return fail_no_verb (cl.words[0]);
    cl.words++;
    cl.nr_words--;
  }
  else if (cl.given & BIT (OPT_HELP))
    return finish (help_all ());
  if (cl.given & BIT (OPT_HELP))
    return finish (help_verb (verb));
  cl.inv.args = cl.words;
  cl.inv.nr_args = cl.nr_words;
  r = check_usage (verb, &cl);
  if (r != 0)
    return r;
  return finish (run (verb, &cl));
}
