/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_LIMIT_H
#define TLSKIT_NET_LIMIT_H

#include <stdint.h>

/* Raises the soft limit of descriptors to the hard one and returns what the
 * process may open now. */
uint64_t limit_raise_files(void);

/* How many CPUs this process may run on (affinity), at least 1. */
unsigned limit_cpus(void);

#endif
