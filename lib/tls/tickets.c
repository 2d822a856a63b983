/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/tickets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tls/cert.h"

struct tickets {
	pthread_mutex_t lock;
	size_t n, max;
	gnutls_datum_t at[]; /* oldest first */
};

struct tickets *tickets_new(size_t max)
{
	struct tickets *t = calloc(1, sizeof(*t) + max * sizeof(*t->at));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	t->max = max;
	return t;
}

void tickets_clear(struct tickets *t)
{
	pthread_mutex_lock(&t->lock);
	while (t->n)
		cert_wipe_datum(&t->at[--t->n]);
	pthread_mutex_unlock(&t->lock);
}

void tickets_free(struct tickets *t)
{
	if (!t)
		return;
	tickets_clear(t);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void tickets_put(struct tickets *t, gnutls_datum_t *data)
{
	gnutls_datum_t old = { NULL, 0 };

	pthread_mutex_lock(&t->lock);
	if (t->n == t->max) {
		old = t->at[0];
		memmove(t->at, t->at + 1, --t->n * sizeof(*t->at));
	}
	t->at[t->n++] = *data;
	pthread_mutex_unlock(&t->lock);
	cert_wipe_datum(&old);
	data->data = NULL;
	data->size = 0;
}

int tickets_take(struct tickets *t, gnutls_datum_t *data)
{
	int r = -1;

	pthread_mutex_lock(&t->lock);
	if (t->n) {
		*data = t->at[--t->n];
		r = 0;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}
