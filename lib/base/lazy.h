/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_BASE_LAZY_H
#define TLSKIT_BASE_LAZY_H

#include <stdbool.h>

/* Libraries that most runs do without: linked, they would cost each start half a
 * millisecond and more of relocations. They are loaded by the first who needs them, and
 * stay. */

struct lazy_symbol {
	const char *name; /* NULL ends the table */
	void *to; /* where the function pointer goes */
};

#define LAZY_SYMBOL(table, member, symbol) { #symbol, &(table).member }

/* All of the symbols, or false, and none is to be used. soname: "libcrypto.so.3". */
bool lazy_load(const char *soname, const struct lazy_symbol *symbols);

#endif
