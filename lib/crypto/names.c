/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "lib/crypto/crypto.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void crypto_list_names(FILE *out)
{
	const struct crypto_engine *const *en;
	const struct crypto_algorithm *list;
	const char **names;
	size_t all = 0, n, i;

	for (en = crypto_engines(); *en; en++)
		all += (*en)->list(&list);
	names = calloc(all + 1, sizeof(*names));
	if (!names)
		return;
	for (all = 0, en = crypto_engines(); *en; en++) {
		n = (*en)->list(&list);
		for (i = 0; i < n; i++)
			names[all++] = list[i].name;
	}
	qsort(names, all, sizeof(*names), compare);
	for (i = 0; i < all; i++)
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			fprintf(out, "%s\n", names[i]);
	free(names);
}
