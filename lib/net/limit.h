/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_LIMIT_H
#define TLSKIT_NET_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Raises the soft limit of descriptors to the hard one and returns what the
 * process may open now. */
uint64_t limit_raise_files(void);

/* How many CPUs this process may run on (affinity), at least 1. */
unsigned limit_cpus(void);

/* Has the calling thread give way to others that want the processor. */
void limit_give_way(void);

/* Has the allocator keep up to `bytes` of free memory at the end of a heap. glibc
 * gives it back from 128 KiB on, and takes it again page by page: a fault every
 * 4 KiB, for each record that is received. Before any thread starts. */
void limit_keep_heap(size_t bytes);

#endif
