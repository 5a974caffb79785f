/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that populates memory ahead of the devices' writes (store_feed).
 *
 * On a machine that is short of memory, to ask the kernel for a page can mean
 * to wait until other pages were swapped out; and if they are swapped out to
 * this server, for ever.  So nobody who serves a client asks.  This thread is
 * no part of the loop that does the housekeeping, as it may wait long.
 */
#ifndef FEEDER_H
#define FEEDER_H

/* Start it; in .after_fork.  0 or -errno. */
int feeder_start (void);
/* Stop it.  Waits for what it is doing.  Does nothing if it did not start. */
void feeder_stop (void);

/* Some device is hungry.  From any thread, with any locks held; never blocks.
 * opaque is not used.
 */
void feeder_wake (void *opaque);

#endif /* FEEDER_H */
