/* SPDX-License-Identifier: BSD-3-Clause */
/* The housekeeper's thread: it starts and stops at any moment, compacts by
 * itself and on request, and says when a request is done.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "housekeeper.h"
#include "store-fixture.h"

#define NR_DEVICES 3
#define NR_PAGES   2048

/* So long nothing here takes, whatever else the machine does. */
#define PATIENCE_SECONDS 60

/* Devices with a housekeeper, and a way to ask it for compaction: from another
 * thread, by an async handle on its loop.
 */
struct fixture {
  struct store_fixture stores[NR_DEVICES];
  _Atomic size_t nr; /* of them that the housekeeper knows */
  struct housekeeper *hk;
  struct rng rng;

  uv_async_t ask;
  size_t ask_device;
  unsigned ask_times;

  sem_t done; /* posted for each request that was answered */
  _Atomic unsigned nr_done, nr_stops, nr_warnings;
  _Atomic unsigned warned_device, warned_percent;
  _Atomic unsigned nr_looks; /* at how many devices there are */
  _Atomic bool signals_masked;
  pthread_t thread;
};

static size_t
fixture_nr (void *opaque)
{
  struct fixture *fx = opaque;

  fx->nr_looks++;
  return fx->nr;
}

static struct store *
fixture_store (void *opaque, size_t i)
{
  struct fixture *fx = opaque;

  return fx->stores[i].store;
}

static void
fixture_warn (void *opaque, size_t i, unsigned percent)
{
  struct fixture *fx = opaque;

  fx->warned_device = i;
  fx->warned_percent = percent;
  fx->nr_warnings++;
}

static void
on_done (void *opaque)
{
  struct fixture *fx = opaque;
  sigset_t set;

  pthread_sigmask (SIG_SETMASK, NULL, &set);
  fx->signals_masked = sigismember (&set, SIGTERM) == 1 &&
                       sigismember (&set, SIGINT) == 1 &&
                       sigismember (&set, SIGHUP) == 1;
  fx->thread = pthread_self ();
  fx->nr_done++;
  sem_post (&fx->done);
}

static void
on_ask (uv_async_t *handle)
{
  struct fixture *fx = handle->data;
  unsigned i;

  for (i = 0; i < fx->ask_times; ++i)
    if (housekeeper_do (fx->hk, fx->ask_device,
                        &(struct chore_order){.job = JOB_COMPACT}, on_done,
                        fx) < 0)
      abort ();
}

static void
on_stop (void *opaque)
{
  struct fixture *fx = opaque;

  fx->nr_stops++;
  uv_close ((uv_handle_t *) &fx->ask, NULL);
}

static void
fixture_init (struct fixture *fx, unsigned interval_ms, size_t nr)
{
  struct housekeeper_devices devices = {.opaque = fx,
                                        .nr = fixture_nr,
                                        .store = fixture_store,
                                        .warn = fixture_warn};
  size_t i;

  memset (fx, 0, sizeof *fx);
  fx->rng = rng_make (1);
  fx->nr = nr;
  sem_init (&fx->done, 0, 0);
  for (i = 0; i < NR_DEVICES; ++i)
    store_fixture_init (&fx->stores[i],
                        (struct store_params){.nr_pages = NR_PAGES});
  assert_int_equal (housekeeper_create (interval_ms, &devices, &fx->hk), 0);
  assert_int_equal (uv_async_init (housekeeper_loop (fx->hk), &fx->ask, on_ask),
                    0);
  fx->ask.data = fx;
  housekeeper_on_stop (fx->hk, on_stop, fx);
}

static void
fixture_fini (struct fixture *fx)
{
  size_t i;

  housekeeper_stop (fx->hk);
  housekeeper_destroy (fx->hk);
  assert_int_equal (fx->nr_stops, 1);
  for (i = 0; i < NR_DEVICES; ++i)
    store_fixture_fini (&fx->stores[i]);
  sem_destroy (&fx->done);
}

/* Have many pages of device i to free by compaction. */
static void
fragment (struct fixture *fx, size_t i)
{
  struct store *store = fx->stores[i].store;
  uint64_t idx;

  put_pages (store, 0, NR_PAGES, PAGE_NOISE, &fx->rng);
  for (idx = 0; idx < NR_PAGES; ++idx)
    if (!rng_one_in (&fx->rng, 3))
      trim_pages (store, idx, 1);
  assert_in_range (store_stats_now (store).freeable, 50 * PAGE, UINT64_MAX);
}

static uint64_t
freeable (struct fixture *fx, size_t i)
{
  return store_stats_now (fx->stores[i].store).freeable;
}

static void
ask (struct fixture *fx, size_t device, unsigned times)
{
  fx->ask_device = device;
  fx->ask_times = times;
  uv_async_send (&fx->ask);
}

static void
wait_done (struct fixture *fx, unsigned times)
{
  struct timespec until;

  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE_SECONDS;
  for (; times > 0; --times)
    assert_int_equal (sem_timedwait (&fx->done, &until), 0);
}

/* Wait for a condition that comes about by itself. */
#define WAIT_UNTIL(cond)                                                       \
  do {                                                                         \
    double end_ = test_now () + PATIENCE_SECONDS;                              \
    while (!(cond)) {                                                          \
      struct timespec ms_ = {0, 1000000};                                      \
      if (test_now () > end_)                                                  \
        fail_msg ("not in time: %s", #cond);                                   \
      nanosleep (&ms_, NULL);                                                  \
    }                                                                          \
  } while (0)

static void
it_can_be_destroyed_without_having_started (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 5000, 1);
  fixture_fini (&fx);
  housekeeper_stop (NULL);
  housekeeper_destroy (NULL);
}

static void
it_starts_and_stops_at_once (void **state)
{
  struct fixture fx;
  unsigned i;

  (void) state;
  for (i = 0; i < 50; ++i) {
    fixture_init (&fx, i % 2 ? 1 : 5000, 1);
    assert_int_equal (housekeeper_start (fx.hk), 0);
    if (i % 3 == 0)
      housekeeper_stop (fx.hk);
    fixture_fini (&fx);
  }
}

static void
a_request_compacts_and_is_answered_on_the_loop (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 0, NR_DEVICES);
  fragment (&fx, 0);
  fragment (&fx, 1);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  ask (&fx, 1, 1);
  wait_done (&fx, 1);
  assert_int_equal (freeable (&fx, 1), 0);
  assert_in_range (freeable (&fx, 0), 1, UINT64_MAX);
  assert_false (pthread_equal (fx.thread, pthread_self ()));
  assert_true (fx.signals_masked);
  fixture_fini (&fx);
}

static void
a_request_with_nothing_to_do_is_answered (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 0, NR_DEVICES);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  ask (&fx, 0, 1);
  wait_done (&fx, 1);
  ask (&fx, 2, 1);
  wait_done (&fx, 1);
  fixture_fini (&fx);
}

static void
many_requests_are_each_answered_once (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 0, NR_DEVICES);
  fragment (&fx, 2);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  ask (&fx, 2, 20);
  wait_done (&fx, 20);
  assert_int_equal (freeable (&fx, 2), 0);
  housekeeper_stop (fx.hk);
  assert_int_equal (fx.nr_done, 20);
  fixture_fini (&fx);
}

/* What asked is told nothing then, as it may be gone. */
static void
it_stops_while_requests_wait (void **state)
{
  struct fixture fx;
  unsigned i;

  (void) state;
  for (i = 0; i < 5; ++i) {
    fixture_init (&fx, 0, NR_DEVICES);
    fragment (&fx, 0);
    assert_int_equal (housekeeper_start (fx.hk), 0);
    ask (&fx, 0, 3);
    housekeeper_stop (fx.hk);
    assert_in_range (fx.nr_done, 0, 3);
    assert_int_equal (fx.nr_done % 3, 0);
    fixture_fini (&fx);
  }
}

static void
the_timer_alone_compacts_every_device (void **state)
{
  struct fixture fx;
  size_t i;

  (void) state;
  fixture_init (&fx, 5, NR_DEVICES);
  for (i = 0; i < NR_DEVICES; ++i)
    fragment (&fx, i);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  for (i = 0; i < NR_DEVICES; ++i)
    WAIT_UNTIL (freeable (&fx, i) == 0);
  fixture_fini (&fx);
}

static void
without_an_interval_it_never_looks (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 0, NR_DEVICES);
  fragment (&fx, 0);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  /* Its loop has gone round when this is answered. */
  ask (&fx, 1, 1);
  wait_done (&fx, 1);
  housekeeper_stop (fx.hk);
  assert_int_equal (fx.nr_looks, 1);
  assert_int_equal (store_stats_now (fx.stores[0].store).objects_moved, 0);
  fixture_fini (&fx);
}

static void
devices_that_appear_are_looked_after (void **state)
{
  struct fixture fx;

  (void) state;
  fixture_init (&fx, 5, 0);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  WAIT_UNTIL (fx.nr_looks > 1);
  fragment (&fx, 0);
  fragment (&fx, 1);
  fx.nr = 2;
  WAIT_UNTIL (freeable (&fx, 1) == 0);
  WAIT_UNTIL (freeable (&fx, 0) == 0);
  /* And a request for one that no tick has seen. */
  fx.nr = 3;
  ask (&fx, 2, 1);
  wait_done (&fx, 1);
  fixture_fini (&fx);
}

static void
a_limit_that_is_near_is_said_of_the_right_device_once (void **state)
{
  struct fixture fx;
  unsigned looks;

  (void) state;
  fixture_init (&fx, 2, NR_DEVICES);
  put_pages (fx.stores[1].store, 0, 92, PAGE_RANDOM, &fx.rng);
  store_set_mem_limit (fx.stores[1].store, 100 * PAGE);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  WAIT_UNTIL (fx.nr_warnings > 0);
  assert_int_equal (fx.warned_device, 1);
  assert_int_equal (fx.warned_percent, 90);
  looks = fx.nr_looks;
  WAIT_UNTIL (fx.nr_looks > looks + 5);
  assert_int_equal (fx.nr_warnings, 1);
  fixture_fini (&fx);
}

/* Everything at once, for the sanitizers: devices in use, a fast timer,
 * requests, and a stop in the middle.
 */
struct client {
  struct fixture *fx;
  size_t device;
  _Atomic bool *stop;
};

static void *
use_device (void *arg)
{
  struct client *c = arg;
  struct store *store = c->fx->stores[c->device].store;
  struct rng rng = rng_make (100 + c->device);
  uint8_t page[PAGE];

  while (!*c->stop) {
    uint64_t idx = rng_below (&rng, NR_PAGES);

    if (rng_one_in (&rng, 2))
      store_trim (store, PAGE, idx * PAGE);
    else {
      page_make (PAGE_NOISE, &rng, page);
      store_write (store, page, PAGE, idx * PAGE);
    }
    store_read (store, page, PAGE, rng_below (&rng, NR_PAGES) * PAGE);
  }
  return NULL;
}

static void
it_stops_while_everything_is_busy (void **state)
{
  struct fixture fx;
  struct client clients[NR_DEVICES];
  pthread_t threads[NR_DEVICES];
  _Atomic bool stop = false;
  size_t i;

  (void) state;
  fixture_init (&fx, 1, NR_DEVICES);
  assert_int_equal (housekeeper_start (fx.hk), 0);
  for (i = 0; i < NR_DEVICES; ++i) {
    clients[i] = (struct client){&fx, i, &stop};
    assert_int_equal (
      pthread_create (&threads[i], NULL, use_device, &clients[i]), 0);
  }
  for (i = 0; i < test_scaled (40); ++i) {
    ask (&fx, i % NR_DEVICES, 2);
    wait_done (&fx, 2);
  }
  ask (&fx, 0, 2);
  housekeeper_stop (fx.hk);
  stop = true;
  for (i = 0; i < NR_DEVICES; ++i)
    pthread_join (threads[i], NULL);
  fixture_fini (&fx);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (it_can_be_destroyed_without_having_started),
    cmocka_unit_test (it_starts_and_stops_at_once),
    cmocka_unit_test (a_request_compacts_and_is_answered_on_the_loop),
    cmocka_unit_test (a_request_with_nothing_to_do_is_answered),
    cmocka_unit_test (many_requests_are_each_answered_once),
    cmocka_unit_test (it_stops_while_requests_wait),
    cmocka_unit_test (the_timer_alone_compacts_every_device),
    cmocka_unit_test (without_an_interval_it_never_looks),
    cmocka_unit_test (devices_that_appear_are_looked_after),
    cmocka_unit_test (a_limit_that_is_near_is_said_of_the_right_device_once),
    cmocka_unit_test (it_stops_while_everything_is_busy),
  };

  return cmocka_run_group_tests (tests, test_setup, NULL);
}
