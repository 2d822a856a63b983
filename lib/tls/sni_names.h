/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_SNI_NAMES_H
#define TLSKIT_TLS_SNI_NAMES_H

#include <stddef.h>

/* The names of a server's certificates, and which of them one that a client asks for
 * (RFC 6066, 3) stands for. A wildcard is the whole leftmost label of a name and stands for
 * exactly one label (RFC 9525, 6.3; RFC 6125, 6.4.3); the name itself wins over it. ASCII
 * letters of either case are the same, a dot at the end says nothing, IDNs are compared as
 * A-labels. Nobody is believed by this: whether a certificate is for him the client judges. */

struct sni_name {
	char *text; /* as it is compared; of a wildcard what follows the star, its dot included */
	unsigned cert; /* whose it is */
};

struct sni_names {
	struct sni_name *v;
	size_t n, room;
};

/* A name of a certificate, n bytes of any kind; what is no DNS name is left out. 0, or -1
 * without memory. */
int sni_names_add(struct sni_names *t, unsigned cert, const char *text, size_t n);

/* Once, after the last was added and before the first is asked for. */
void sni_names_sort(struct sni_names *t);

/* How many entries from *first on are for this name, one a certificate, these in order;
 * 0: nothing is. n bytes of any kind. */
size_t sni_names_find(const struct sni_names *t, const char *asked, size_t n, size_t *first);

/* How many entries from first on have the name of the first. */
size_t sni_names_run(const struct sni_names *t, size_t first);

void sni_names_free(struct sni_names *t); /* what it holds */

#endif
