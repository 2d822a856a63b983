/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <nettle/version.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/crypto/crypto_int.h"

/* Nettle, the library under GnuTLS, called directly: what is left when GnuTLS's
 * own assembly and its interface are gone. */

static struct crypto_table table;

static void build(void)
{
	nettle_aead_add(&table);
	nettle_cipher_add(&table);
	nettle_mac_add(&table);
}

static const struct crypto_table *get_table(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, build);
	return &table;
}

static char version_text[32];

static void write_version(void)
{
	snprintf(version_text, sizeof(version_text), "%d.%d", nettle_version_major(), nettle_version_minor());
}

static const char *version(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, write_version);
	return version_text;
}

static size_t list(const struct crypto_algorithm **out)
{
	const struct crypto_table *t = get_table();

	*out = t->algorithms;
	return t->count;
}

static struct crypto_object *open_object(
	const struct crypto_algorithm *a, enum crypto_op op, size_t size, struct err *e)
{
	return object_open(&nettle_engine, a, op, size, e);
}

const struct crypto_engine nettle_engine = { "nettle", "Nettle", version, list, open_object, object_run, object_close,
	get_table, NULL };
