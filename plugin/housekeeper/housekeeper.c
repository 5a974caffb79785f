/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop thread; see housekeeper.h.
 *
 * While any device has a chore, an idle handle is active, and the loop does one
 * slice each time round, device after device.
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "housekeeper.h"

/* Of the thread: it gets a tenth of a processor that others want. */
#define NICE 10
/* And of Linux from 6.12 on a long time slice, which is the longest there is:
 * who wakes up with a shorter one does not wait for the end of it.
 */
#define SLICE_NS 100000000u

/* Of the thread that trains dictionaries: it gets what is left. */
#define TRAINER_NICE 19

/* The first version of what sched_setattr(2) takes.  Headers of Linux and of
 * older C libraries do not go together here.
 */
struct scheduling {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

/* Whoever waits for a page goes first.  All of this is of the calling thread only;
 * where the slice is not known, the rest holds.  The long one is for work that
 * nobody waits for: with it the thread comes late itself, as HTTP must not.
 */
static void
give_way (int nice, bool long_slice)
{
  const struct scheduling s = {.size = sizeof s,
                               .policy = SCHED_OTHER,
                               .nice = nice,
                               .runtime = long_slice ? SLICE_NS : 0};

  setpriority (PRIO_PROCESS, gettid (), nice);
  syscall (SYS_sched_setattr, 0, &s, 0);
}

struct request {
  size_t device;
  enum chore_job job;
  void (*done) (void *opaque);
  void *opaque;
  struct request *next;
};

struct housekeeper {
  struct housekeeper_devices devices;
  unsigned interval_ms;
  void (*on_stop) (void *opaque);
  void *on_stop_opaque;

  uv_loop_t loop;
  uv_async_t stop_async; /* the only handle that other threads use */
  uv_timer_t timer;
  uv_idle_t idle;

  unsigned warned_all;   /* as policy_warning does */
  struct chore **chores; /* [nr_chores], one a device seen so far */
  size_t nr_chores, next_chore;
  struct request *requests;

  pthread_t thread;
  bool is_running;

  /* One training at a time, in a thread of its own. */
  uv_async_t trained_async;
  pthread_t trainer;
  unsigned nr_samples; /* taken, or being taken, of any device */
  bool is_training;
  size_t trained_device;
  struct training training;
};

/* Have a chore for each device that there is now. */
static void
chores_update (struct housekeeper *hk)
{
  const struct chore_config config = {
    .budget = hk->devices.budget,
    .interval_ms = hk->interval_ms,
    .recompress_cpu = hk->devices.recompress_cpu,
    .nr_samples = &hk->nr_samples,
  };
  size_t nr = hk->devices.nr (hk->devices.opaque);
  struct chore **chores;

  if (nr == hk->nr_chores)
    return;
  chores = realloc (hk->chores, nr * sizeof *chores);
  if (chores == NULL)
    return; /* the next tick tries again */
  hk->chores = chores;
  while (hk->nr_chores < nr) {
    struct chore *chore = malloc (sizeof *chore);

    if (chore == NULL)
      return;
    chore_init (
      chore, hk->devices.store (hk->devices.opaque, hk->nr_chores),
      hk->devices.has_dictionaries &&
        hk->devices.has_dictionaries (hk->devices.opaque, hk->nr_chores),
      &config);
    chores[hk->nr_chores++] = chore;
  }
}

/* Tell those whose jobs are done now. */
static void
requests_answer (struct housekeeper *hk)
{
  struct request **at = &hk->requests;

  while (*at) {
    struct request *r = *at;

    if (r->device < hk->nr_chores &&
        chore_is_at (hk->chores[r->device], r->job)) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    r->done (r->opaque);
    free (r);
  }
}

static void *
trainer_main (void *arg)
{
  struct housekeeper *hk = arg;

  pthread_setname_np (pthread_self (), "zspage-trainer");
  give_way (TRAINER_NICE, true);
  if (hk->devices.in_background)
    hk->devices.in_background (hk->devices.opaque);
  trainer_run (&hk->training);
  if (!hk->devices.heap_stays)
    malloc_trim (0); /* of what this thread will not need again */
  uv_async_send (&hk->trained_async);
  return NULL;
}

/* Train on the sample of a device whose is ready, if there is one. */
static void
training_start (struct housekeeper *hk)
{
  uint64_t pages;
  size_t i;

  for (i = 0; i < hk->nr_chores && !hk->is_training; ++i) {
    struct chore *chore = hk->chores[i];

    if (!chore->sample || !chore->sample_is_ready)
      continue;
    hk->training = (struct training){
      .store = chore->store,
      .level = store_dictionary_level (chore->store),
      .judge_level = store_strong_level (chore->store),
      .pages = chore->sample,
      .nr_pages = chore->nr_sample,
      .now = store_dictionary (chore->store, store_generation (chore->store),
                               &pages),
    };
    hk->trained_device = i;
    if (pthread_create (&hk->trainer, NULL, trainer_main, hk) == 0)
      hk->is_training = true;
    else
      chore_trained (chore, NULL);
  }
}

/* Wait for its end; it takes some 0.2 s. */
static void
training_end (struct housekeeper *hk)
{
  struct training *t = &hk->training;
  struct chore *chore = hk->chores[hk->trained_device];
  bool is_new;

  pthread_join (hk->trainer, NULL);
  hk->is_training = false;
  is_new = chore_trained (chore, t->dictionary);
  if (hk->devices.trained)
    hk->devices.trained (hk->devices.opaque, hk->trained_device,
                         is_new ? store_generation (chore->store) : 0,
                         t->bytes_before, t->bytes_after);
}

static void
on_stop (uv_async_t *handle)
{
  struct housekeeper *hk = handle->data;

  if (hk->is_training)
    training_end (hk);
  if (hk->on_stop)
    hk->on_stop (hk->on_stop_opaque);
  uv_close ((uv_handle_t *) &hk->stop_async, NULL);
  uv_close ((uv_handle_t *) &hk->trained_async, NULL);
  uv_close ((uv_handle_t *) &hk->timer, NULL);
  uv_close ((uv_handle_t *) &hk->idle, NULL);
}

static void
on_trained (uv_async_t *handle)
{
  struct housekeeper *hk = handle->data;

  if (hk->is_training)
    training_end (hk);
  training_start (hk);
  requests_answer (hk);
}

static void
on_idle (uv_idle_t *handle)
{
  struct housekeeper *hk = handle->data;
  size_t i;

  for (i = 0; i < hk->nr_chores; ++i) {
    struct chore *chore = hk->chores[hk->next_chore++ % hk->nr_chores];

    if (chore_is_due (chore)) {
      chore_slice (chore);
      training_start (hk);
      requests_answer (hk);
      return;
    }
  }
  requests_answer (hk);
  uv_idle_stop (&hk->idle);
  give_way (NICE, false);
}

static void
chores_start (struct housekeeper *hk)
{
  if (uv_is_active ((uv_handle_t *) &hk->idle))
    return;
  give_way (NICE, true);
  uv_idle_start (&hk->idle, on_idle);
}

static void
on_timer (uv_timer_t *handle)
{
  struct housekeeper *hk = handle->data;
  unsigned warning;
  bool due = false;
  size_t i;

  chores_update (hk);
  for (i = 0; i < hk->nr_chores; ++i) {
    warning = chore_tick (hk->chores[i]);
    if (warning)
      hk->devices.warn (hk->devices.opaque, i, warning);
    due = due || chore_is_due (hk->chores[i]);
  }
  if (hk->devices.budget) {
    warning =
      policy_warning (&hk->warned_all, atomic_load (&hk->devices.budget->used),
                      atomic_load (&hk->devices.budget->limit));
    if (warning)
      hk->devices.warn_all (hk->devices.opaque, warning);
  }
  if (due)
    chores_start (hk);
}

int
housekeeper_create (unsigned interval_ms,
                    const struct housekeeper_devices *devices,
                    struct housekeeper **out)
{
  struct housekeeper *hk = calloc (1, sizeof *hk);
  int r;

  if (hk == NULL)
    return -ENOMEM;
  hk->devices = *devices;
  hk->interval_ms = interval_ms;
  r = uv_loop_init (&hk->loop);
  if (r < 0) {
    free (hk);
    return r;
  }
  r = uv_async_init (&hk->loop, &hk->stop_async, on_stop);
  if (r < 0) {
    uv_loop_close (&hk->loop);
    free (hk);
    return r;
  }
  r = uv_async_init (&hk->loop, &hk->trained_async, on_trained);
  if (r < 0) {
    uv_close ((uv_handle_t *) &hk->stop_async, NULL);
    uv_run (&hk->loop, UV_RUN_DEFAULT);
    uv_loop_close (&hk->loop);
    free (hk);
    return r;
  }
  uv_timer_init (&hk->loop, &hk->timer);
  uv_idle_init (&hk->loop, &hk->idle);
  hk->stop_async.data = hk->trained_async.data = hk->timer.data =
    hk->idle.data = hk;
  *out = hk;
  return 0;
}

void
housekeeper_destroy (struct housekeeper *hk)
{
  size_t i;

  if (hk == NULL)
    return;
  if (!uv_is_closing ((uv_handle_t *) &hk->stop_async)) {
    on_stop (&hk->stop_async);
    uv_run (&hk->loop, UV_RUN_DEFAULT);
  }
  uv_loop_close (&hk->loop);
  for (i = 0; i < hk->nr_chores; ++i) {
    chore_fini (hk->chores[i]);
    free (hk->chores[i]);
  }
  free (hk->chores);
  while (hk->requests) {
    struct request *r = hk->requests;

    hk->requests = r->next;
    free (r);
  }
  free (hk);
}

uv_loop_t *
housekeeper_loop (struct housekeeper *hk)
{
  return &hk->loop;
}

void
housekeeper_on_stop (struct housekeeper *hk, void (*fn) (void *opaque),
                     void *opaque)
{
  hk->on_stop = fn;
  hk->on_stop_opaque = opaque;
}

static void *
thread_main (void *arg)
{
  struct housekeeper *hk = arg;

  pthread_setname_np (pthread_self (), "zspage-keeper");
  give_way (NICE, false);
  uv_run (&hk->loop, UV_RUN_DEFAULT);
  return NULL;
}

int
housekeeper_start (struct housekeeper *hk)
{
  sigset_t all, old;
  int r;

  if (hk->interval_ms > 0)
    uv_timer_start (&hk->timer, on_timer, hk->interval_ms, hk->interval_ms);
  /* nbdkit's own threads take the signals. */
  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  r = pthread_create (&hk->thread, NULL, thread_main, hk);
  pthread_sigmask (SIG_SETMASK, &old, NULL);
  hk->is_running = r == 0;
  return -r;
}

void
housekeeper_stop (struct housekeeper *hk)
{
  if (hk == NULL || !hk->is_running)
    return;
  uv_async_send (&hk->stop_async);
  pthread_join (hk->thread, NULL);
  hk->is_running = false;
}

int
housekeeper_do (struct housekeeper *hk, size_t i,
                const struct chore_order *order, void (*done) (void *opaque),
                void *opaque)
{
  struct request *r = malloc (sizeof *r);

  if (r == NULL)
    return -ENOMEM;
  chores_update (hk);
  if (i < hk->nr_chores)
    chore_begin (hk->chores[i], order);
  *r = (struct request){.device = i,
                        .job = order->job,
                        .done = done,
                        .opaque = opaque,
                        .next = hk->requests};
  hk->requests = r;
  chores_start (hk);
  return 0;
}
