/* SPDX-License-Identifier: BSD-3-Clause */
/* Being safe to swap to.
 *
 * A server that its machine is short of memory for must not be written out, nor
 * wait for what only its clients' swapping frees.  So its memory is locked, what
 * a request may need is there before the request comes (here stacks and heap;
 * see also feeder.h), and its threads are marked as part of the I/O path
 * (mlockall(2), PR_SET_IO_FLUSHER in prctl(2)).  nbdkit's own --swap locks
 * before it forks, which a daemon loses, and locks memory that is never touched.
 */
#ifndef SWAP_H
#define SWAP_H

enum swap_mode {
  SWAP_NO,
  SWAP_TRUE,    /* what cannot be had is said */
  SWAP_REQUIRE, /* what cannot be had is an error */
};

/* In .get_ready: make stacks small, mark the process, and find out whether its
 * memory can be locked, while errors are still seen.  0, or -1 after
 * nbdkit_error.
 */
int swap_prepare (enum swap_mode mode);

/* In .after_fork, before threads are started: lock.  0, or -1 after
 * nbdkit_error.
 */
int swap_lock (enum swap_mode mode);

/* In the thread that keeps memory ready, once something was written: make heap
 * for nbdkit's buffers.
 */
void swap_prepare_heap (enum swap_mode mode);

/* In that thread: it is not part of the I/O path after all. */
void swap_may_reclaim (enum swap_mode mode);

#endif /* SWAP_H */
