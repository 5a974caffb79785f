/* SPDX-License-Identifier: BSD-3-Clause */
/* What each fuzz target is: one function, which libFuzzer calls with inputs
 * that it makes up, and fuzz-replay.c with those in files.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0.  What must not happen is an abort. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#endif /* FUZZ_H */
