/* SPDX-License-Identifier: BSD-3-Clause */
/* The housekeeper: one thread with a libuv loop of its own, a timer, and
 * budgeted chores for each device.  The statistics endpoint lives on the same
 * loop.
 *
 *   create -> attach to the loop -> start ... stop -> destroy
 *
 * Between start and stop the loop and everything on it belong to the
 * housekeeper's thread.
 */
#ifndef HOUSEKEEPER_H
#define HOUSEKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "chore.h"
#include "store.h"

struct housekeeper;

/* The devices that there are: they may become more, but none goes.  Called
 * from the housekeeper's thread.
 */
struct housekeeper_devices {
  void *opaque;
  size_t (*nr) (void *opaque);
  struct store *(*store) (void *opaque, size_t i);
  /* Whether device i is to have dictionaries; may be NULL. */
  bool (*has_dictionaries) (void *opaque, size_t i);
  struct zs_budget *budget; /* of all together; NULL = none */
  unsigned recompress_cpu;  /* percent of a processor a device; 0 = none */
  /* Called by a thread for whose work nobody waits.  May be NULL. */
  void (*in_background) (void *opaque);
  bool heap_stays; /* what was freed is not given back to the kernel */
  /* A dictionary was trained for device i, as generation; 0: in vain.  Bytes that
   * a sample takes, before and after.
   */
  void (*trained) (void *opaque, size_t i, unsigned generation,
                   uint64_t bytes_before, uint64_t bytes_after);
  /* Device i uses percent of its limit: to be said, once. */
  void (*warn) (void *opaque, size_t i, unsigned percent);
  /* All together use percent of the budget. */
  void (*warn_all) (void *opaque, unsigned percent);
};

/* interval_ms: between two looks at each device; 0: none.  -ENOMEM, or -errno
 * of making the loop.
 */
int housekeeper_create (unsigned interval_ms,
                        const struct housekeeper_devices *devices,
                        struct housekeeper **housekeeper);

/* Free what create made; the thread is not running. */
void housekeeper_destroy (struct housekeeper *hk);

uv_loop_t *housekeeper_loop (struct housekeeper *hk);

/* Call fn on the loop when it stops, so that whoever attached handles to it
 * closes them.  At most one.
 */
void housekeeper_on_stop (struct housekeeper *hk, void (*fn) (void *opaque),
                          void *opaque);

/* Start the thread, with all signals masked.  -errno. */
int housekeeper_start (struct housekeeper *hk);

/* Stop the thread and wait for it.  Does nothing if it was not started. */
void housekeeper_stop (struct housekeeper *hk);

/* On the loop thread: do what is ordered on device i, in slices, and call done
 * when that is so.  -ENOMEM.
 */
int housekeeper_do (struct housekeeper *hk, size_t i,
                    const struct chore_order *order,
                    void (*done) (void *opaque), void *opaque);

#endif /* HOUSEKEEPER_H */
