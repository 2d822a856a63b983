/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/base/lazy.h"

#include <dlfcn.h>
#include <string.h>

bool lazy_load(const char *soname, const struct lazy_symbol *symbols)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL), *p;

	for (; library && symbols->name; symbols++) {
		p = dlsym(library, symbols->name);
		if (!p)
			return false;
		memcpy(symbols->to, &p, sizeof(p)); /* POSIX: functions and data have pointers of one kind */
	}
	return library != NULL;
}
