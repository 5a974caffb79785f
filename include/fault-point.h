/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps at which a test kills the process, to see what it leaves in shared
 * memory.  Nothing, unless the file is compiled with ZSPAGE_FAULTS; then the
 * program has the function.
 */
#ifndef FAULT_POINT_H
#define FAULT_POINT_H

#ifdef ZSPAGE_FAULTS
void fault_point (const char *name);
#define FAULT_POINT(name) fault_point (name)
#else
#define FAULT_POINT(name) ((void) 0)
#endif

#endif /* FAULT_POINT_H */
