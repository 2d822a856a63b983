/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_VERSION_H
#define TLSKIT_CLI_VERSION_H

#include <stdio.h>

/* "tlskit 0.1.0", and a line for each library as it runs, which need not be the
 * one that the program was built with. */
void version_print(FILE *out);

#endif
