/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_CPU_H
#define TLSKIT_BASE_CPU_H

#include <stdbool.h>

/* Whether this processor has AES instructions (and carry-less multiplication,
 * without which GCM is slow all the same). False where it is not known. */
bool cpu_has_aes(void);

#endif
