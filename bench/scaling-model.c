/* SPDX-License-Identifier: BSD-3-Clause */
/* How the engine's locks would do on more cores than there are: a simulation.
 *
 * What reads and writes take, and how long they hold which lock, is measured
 * here, in one thread; which locks they take is drawn from a real store: stripes
 * by the slot table's hash of random pages, classes by how many objects each
 * has.  N simulated cores then read, or write, as fast as they can.  All times
 * vary evenly from a half to one and a half of their means.  With two cores the
 * waits are compared with real ones.
 *
 * A write is: its stripe, to look at the old word; compression, without a lock;
 * a class, to take an object; the stripe, to publish; the class again, to free
 * the old object.  Some take chunk_lock, for a zspage, or change the pool's
 * counters.  A read is all under its stripe.
 *
 * Left out:
 *   - memory bandwidth, shared caches, processors that slow down together, NUMA;
 *   - cache lines that move, but for a constant each time that a lock, or the
 *     line of the pool's counters, was another core's;
 *   - codec contexts: each processor has two of its own, so one thread a core
 *     waits for none unless the scheduler moves it;
 *   - what nbdkit does for a request, which is several times a read, and its
 *     locks: one for receiving and one for sending, for each connection;
 *   - the kernel, that is sockets, faults, and threads put off their processors
 *     while they hold a lock; compaction and the housekeeper.
 */
#include <config.h>

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model-inputs.h"
#include "random.h"
#include "usage.h"

#define MAX_COUNTS 8

static const char head[] =
  "        cores        ops/s of linear   waits per million operations\n";

static const char *const kind_names[SIM_KINDS] = {
  [SIM_STRIPE] = "slot",
  [SIM_CLASS] = "class",
  [SIM_CHUNK] = "chunk",
  [SIM_COUNTER] = "counters",
};

struct options {
  unsigned stripes[MAX_COUNTS], nr_stripes;
  uint64_t seed, nr_ops;
  bool one_lock;
  double request; /* ns of other work for each operation */
  struct sim_costs costs;
};

/* The locks: stripes, classes, chunk_lock, counters. */
struct model {
  struct model_inputs in;
  enum model_work work;
  bool one_lock;
  double request;
  size_t nr_pages, nr_objects;
  uint8_t *class_of; /* [nr_objects] */
  unsigned nr_stripes, group_bits;
};

static unsigned
class_lock (const struct model *m, unsigned class)
{
  return m->nr_stripes + (m->one_lock ? 0 : class);
}

static unsigned
chunk_lock (const struct model *m)
{
  return m->nr_stripes + ZS_NR_SIZES;
}

/* As stripe_of, for any number of stripes. */
static unsigned
stripe_index (const struct model *m, uint64_t idx)
{
  uint64_t hash = table_page_of (idx) * UINT64_C (0x9e3779b97f4a7c15);
  uint64_t group = m->group_bits ? hash >> (64 - m->group_bits) : 0;

  return group * STRIPES_PER_GROUP + idx % STRIPES_PER_GROUP;
}

static double
vary (double mean, uint64_t *rng)
{
  return mean * (0.5 + sim_fraction (rng));
}

static void
add (struct sim_op *op, unsigned lock, double before, double hold,
     uint64_t *rng)
{
  op->steps[op->nr_steps++] =
    (struct sim_step){lock, vary (before, rng), vary (hold, rng)};
}

/* What a write does without a lock. */
static double
outside (const struct model_inputs *in)
{
  double ns = in->write - in->look - in->publish - in->zs_malloc - in->zs_free -
              (in->grown + in->emptied) * in->supply;

  return ns > 0 ? ns : 0;
}

static void
next_op (const void *opaque, uint64_t *rng, struct sim_op *op)
{
  const struct model *m = opaque;
  const struct model_inputs *in = &m->in;
  unsigned stripe = stripe_index (m, random_next (rng) % m->nr_pages);
  unsigned class =
    class_lock (m, m->class_of[random_next (rng) % m->nr_objects]);
  unsigned chunk = chunk_lock (m), counters = chunk + 1;
  double before = outside (in);

  op->nr_steps = 0;
  if (m->work == MODEL_READ) {
    add (op, stripe, m->request, in->read, rng);
    return;
  }
  add (op, stripe, m->request, in->look, rng);
  if (sim_fraction (rng) < in->grown) {
    add (op, chunk, before, in->supply, rng);
    before = 0;
  }
  add (op, class, before, in->zs_malloc, rng);
  if (sim_fraction (rng) < in->malloc_counts)
    add (op, counters, 0, 0, rng);
  add (op, stripe, 0, in->publish, rng);
  add (op, class, 0, in->zs_free, rng);
  if (sim_fraction (rng) < in->free_counts)
    add (op, counters, 0, 0, rng);
  if (sim_fraction (rng) < in->emptied)
    add (op, chunk, 0, in->supply, rng);
}

static void
set_stripes (struct model *m, unsigned nr)
{
  m->nr_stripes = nr;
  m->group_bits = __builtin_ctz (nr / STRIPES_PER_GROUP);
}

/* Operations a ns, and waits a million operations. */
static double
simulate (const struct model *m, const struct options *o, unsigned nr_cores,
          double waits[SIM_KINDS])
{
  unsigned nr_locks = chunk_lock (m) + 2, i;
  uint8_t *kind_of = malloc (nr_locks);
  struct sim sim = {
    .nr_cores = nr_cores,
    .nr_ops = o->nr_ops,
    .seed = o->seed,
    .nr_locks = nr_locks,
    .kind_of = kind_of,
    .costs = o->costs,
    .next_op = next_op,
    .opaque = m,
  };
  struct sim_result result;

  if (kind_of == NULL)
    err (EXIT_FAILURE, "malloc");
  memset (kind_of, SIM_STRIPE, m->nr_stripes);
  memset (kind_of + m->nr_stripes, SIM_CLASS, ZS_NR_SIZES);
  kind_of[chunk_lock (m)] = SIM_CHUNK;
  kind_of[chunk_lock (m) + 1] = SIM_COUNTER;
  if (!sim_run (&sim, &result))
    err (EXIT_FAILURE, "malloc");
  free (kind_of);
  for (i = 0; i < SIM_KINDS; ++i)
    waits[i] = result.waits[i] * 1e6 / o->nr_ops;
  return result.ops_per_ns;
}

static void
print_waits (const double waits[SIM_KINDS])
{
  unsigned i;

  for (i = 0; i < SIM_KINDS; ++i)
    if (waits[i] > 0)
      printf (" %s %.0f", kind_names[i], waits[i]);
  printf ("\n");
}

static void
report (struct model *m, const struct options *o, enum model_work work)
{
  const char *name = work == MODEL_READ ? "read" : "write";
  double waits[SIM_KINDS], one = 0;
  unsigned n;

  m->work = work;
  for (n = 1; n <= SIM_MAX_CORES; n *= 2) {
    double rate = simulate (m, o, n, waits);

    if (n == 1)
      one = rate;
    printf ("%-6s %6u %12.0f %9.3f  ", name, n, rate * 1e9, rate / one / n);
    print_waits (waits);
  }
}

/* Two real threads beside two simulated cores. */
static void
validate (struct store *store, struct model *m, const struct options *o,
          enum model_work work)
{
  const char *name = work == MODEL_READ ? "read" : "write";
  double waits[SIM_KINDS], one, rate;

  rate = model_two_threads (store, m->nr_pages, work, waits);
  printf ("%-6s measured  %9.3f  ", name, rate);
  print_waits (waits);
  m->work = work;
  one = simulate (m, o, 1, waits);
  rate = simulate (m, o, 2, waits);
  printf ("%-6s simulated %9.3f  ", name, rate / one / 2);
  print_waits (waits);
}

/* In one of how many cases two operations that come at once meet. */
static double
meet (const size_t *counts, unsigned nr, size_t all)
{
  double sum = 0;
  unsigned i;

  for (i = 0; i < nr; ++i)
    sum += (double) counts[i] / all * counts[i] / all;
  return 1 / sum;
}

static double
stripes_meet (const struct model *m)
{
  size_t *counts = calloc (m->nr_stripes, sizeof *counts), i;
  double one_in;

  if (counts == NULL)
    err (EXIT_FAILURE, "malloc");
  for (i = 0; i < m->nr_pages; ++i)
    counts[stripe_index (m, i)]++;
  one_in = meet (counts, m->nr_stripes, m->nr_pages);
  free (counts);
  return one_in;
}

/* The class of every object there is. */
static void
take_classes (struct store *store, struct model *m)
{
  struct zs_class_stats stats;
  size_t counts[ZS_NR_SIZES] = {0};
  unsigned i;

  for (i = 0; i < ZS_NR_SIZES; ++i)
    if (store_class_stats (store, i, &stats))
      m->nr_objects += counts[i] = stats.obj_used;
  m->class_of = malloc (m->nr_objects);
  if (m->class_of == NULL)
    err (EXIT_FAILURE, "malloc");
  m->nr_objects = 0;
  for (i = 0; i < ZS_NR_SIZES; ++i) {
    memset (m->class_of + m->nr_objects, i, counts[i]);
    m->nr_objects += counts[i];
  }
  printf ("classes meet in 1 of %.0f cases; huge objects %.2f%%\n",
          meet (counts, ZS_NR_SIZES, m->nr_objects),
          counts[ZS_HUGE_INDEX] * 100.0 / m->nr_objects);
}

static void
print_inputs (const struct model *m, const struct options *o)
{
  const struct model_inputs *in = &m->in;

  printf (
    "measured in one thread, ns of CPU time a call; the whole call counts as\n"
    "held, so these are upper bounds:\n"
    "  read     %7.0f  slot: store_read\n"
    "  look     %7.0f  slot: slot_lock_present, zs_prefetch_free, unlock\n"
    "  publish  %7.0f  slot: slot_lock_for_write, slot_publish_locked, "
    "unlock\n"
    "  malloc   %7.0f  class: zs_malloc\n"
    "  free     %7.0f  class: zs_free\n"
    "  supply   %7.0f  chunk: half of supply_get, supply_put\n"
    "  write    %7.0f  store_write, of which %.0f with no lock\n",
    in->read, in->look, in->publish, in->zs_malloc, in->zs_free, in->supply,
    in->write, outside (in));
  printf ("of 100 writes, %.2f take a zspage and %.2f give one back; %.2f\n"
          "and %.2f change the pool's counters on taking and on freeing an "
          "object\n",
          in->grown * 100, in->emptied * 100, in->malloc_counts * 100,
          in->free_counts * 100);
  printf ("assumed: %.0f ns for a lock that another core had, %.0f ns of "
          "spinning, then\n%.0f ns to wake up; the lock %s;\n%.0f ns of other "
          "work for a request\n",
          o->costs.transfer, o->costs.spin, o->costs.wake,
          o->costs.barging ? "may go to others meanwhile"
                           : "is handed over in order of arrival",
          o->request);
}

static void
tables (struct store *store, struct model *m, const struct options *o)
{
  unsigned i;

  set_stripes (m, NR_STRIPES);
  printf ("\ntwo threads, %u stripes: of linear, and waits per million\n",
          NR_STRIPES);
  validate (store, m, o, MODEL_READ);
  validate (store, m, o, MODEL_WRITE);
  for (i = 0; i < o->nr_stripes; ++i) {
    set_stripes (m, o->stripes[i]);
    printf ("\n%u stripes, which meet in 1 of %.0f cases\n%s", m->nr_stripes,
            stripes_meet (m), head);
    report (m, o, MODEL_READ);
    report (m, o, MODEL_WRITE);
  }
}

/* Others may take that lock before a sleeper is awake: else it would look worse
 * than a mutex of libc does.
 */
static void
table_one_lock (struct model *m, const struct options *o)
{
  struct options barging = *o;

  barging.costs.barging = true;
  set_stripes (m, NR_STRIPES);
  m->one_lock = true;
  printf ("\nif all classes had one lock, with --barging; %u stripes\n%s",
          m->nr_stripes, head);
  report (m, &barging, MODEL_WRITE);
}

static void
usage (void)
{
  printf (
    "usage: scaling-model [OPTIONS] FILE\n"
    "FILE holds pages of 4096 bytes.\n"
    "  --stripes N[,N...]  numbers of stripes to simulate, powers of 2, 8 to "
    "65536 [%u]\n"
    "  --one-lock          also, as if all classes had one lock\n"
    "  --transfer-ns N     cost of a lock that another core had last [100]\n"
    "  --spin-ns N         a waiter spins for so long, then sleeps [1000]\n"
    "  --wake-ns N         cost of being woken up [5000]\n"
    "  --barging           others may take a lock before the sleeper is awake\n"
    "  --request-ns N      other work for each operation, without locks [0]\n"
    "  --ops N             simulated operations a row [400000]\n"
    "  --seed N            of the simulation [1]\n",
    NR_STRIPES);
}

static double
number (const char *name, const char *arg)
{
  char *end;
  double x = strtod (arg, &end);

  if (end == arg || *end || !(x >= 0 && x <= 1e12))
    errx (USAGE_STATUS, "--%s: '%s': must be a number from 0 to 1e12", name,
          arg);
  return x;
}

static void
parse_stripes (struct options *o, char *arg)
{
  char *save, *word = strtok_r (arg, ",", &save);

  for (o->nr_stripes = 0; word; word = strtok_r (NULL, ",", &save)) {
    double n = number ("stripes", word);

    if (o->nr_stripes == MAX_COUNTS || n < STRIPES_PER_GROUP || n > 65536 ||
        n != (unsigned) n || ((unsigned) n & ((unsigned) n - 1)))
      errx (USAGE_STATUS,
            "--stripes: '%s': must be powers of 2 from %u to 65536, at most %u",
            word, STRIPES_PER_GROUP, MAX_COUNTS);
    o->stripes[o->nr_stripes++] = n;
  }
  if (o->nr_stripes == 0)
    errx (USAGE_STATUS, "--stripes: needs a number");
}

static void
set_option (struct options *o, int key, const char *name, char *arg)
{
  switch (key) {
  case 's':
    parse_stripes (o, arg);
    break;
  case 'o':
    o->one_lock = true;
    break;
  case 't':
    o->costs.transfer = number (name, arg);
    break;
  case 'p':
    o->costs.spin = number (name, arg);
    break;
  case 'w':
    o->costs.wake = number (name, arg);
    break;
  case 'b':
    o->costs.barging = true;
    break;
  case 'r':
    o->request = number (name, arg);
    break;
  case 'n':
    o->nr_ops = number (name, arg);
    break;
  case 'e':
    o->seed = number (name, arg);
    break;
  }
}

static const char *
parse (struct options *o, int argc, char *argv[])
{
  static const struct option options[] = {
    {"stripes", required_argument, NULL, 's'},
    {"one-lock", no_argument, NULL, 'o'},
    {"transfer-ns", required_argument, NULL, 't'},
    {"spin-ns", required_argument, NULL, 'p'},
    {"wake-ns", required_argument, NULL, 'w'},
    {"barging", no_argument, NULL, 'b'},
    {"request-ns", required_argument, NULL, 'r'},
    {"ops", required_argument, NULL, 'n'},
    {"seed", required_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'h'},
    {0},
  };
  int key, idx;

  while ((key = getopt_long (argc, argv, "", options, &idx)) != -1) {
    if (key == 'h') {
      usage ();
      exit (EXIT_SUCCESS);
    }
    if (key == '?')
      exit (USAGE_STATUS);
    set_option (o, key, options[idx].name, optarg);
  }
  if (o->nr_ops == 0)
    errx (USAGE_STATUS, "--ops: '0': must be a number from 1 on");
  if (optind != argc - 1)
    errx (USAGE_STATUS, "one FILE is needed; see --help");
  return argv[optind];
}

int
main (int argc, char *argv[])
{
  struct options o = {
    .stripes = {NR_STRIPES},
    .nr_stripes = 1,
    .seed = 1,
    .nr_ops = 400000,
    .costs = {.transfer = 100, .spin = 1000, .wake = 5000},
  };
  const char *path = parse (&o, argc, argv);
  struct model m = {0};
  struct store *store = model_store (path, &m.nr_pages);

  m.request = o.request;
  printf ("%zu pages, random; seed %llu\n", m.nr_pages,
          (unsigned long long) o.seed);
  model_measure (store, m.nr_pages, &m.in);
  take_classes (store, &m);
  print_inputs (&m, &o);
  tables (store, &m, &o);
  if (o.one_lock)
    table_one_lock (&m, &o);
  free (m.class_of);
  model_store_destroy (store);
  return EXIT_SUCCESS;
}
