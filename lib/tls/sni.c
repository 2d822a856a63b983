/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/sni.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tls/cert_set.h"
#include "lib/tls/sni_names.h"
#include "lib/tls/tls_int.h"
#include "lib/tls/tlserr.h"

#define ASKED_SIZE 256 /* what is longer is no name */

/* Certificates that some name has, and no others. */
struct set {
	unsigned *cert;
	size_t n;
	gnutls_certificate_credentials_t cred; /* NULL: all have it */
};

struct sni {
	gnutls_certificate_credentials_t all;
	const struct cert_pair *pairs; /* while it is made */
	unsigned n;
	struct sni_names names;
	size_t *set_of; /* by the first entry of a name */
	struct set *sets;
	size_t n_sets;
	size_t fallback; /* the set for all other names */
};

/* --- names ------------------------------------------------------------------------------ */

struct taker {
	struct sni_names *names;
	unsigned cert;
	int r;
};

static void take_name(void *arg, const char *name, size_t n)
{
	struct taker *t = arg;

	if (t->r == 0)
		t->r = sni_names_add(t->names, t->cert, name, n);
}

/* Out of the credentials, where those of a token are, too. */
static int take_names(struct sni *sni, unsigned cert)
{
	struct taker t = { .names = &sni->names, .cert = cert };
	gnutls_x509_crt_t *chain;
	unsigned i, n;
	int r = gnutls_certificate_get_x509_crt(sni->all, cert, &chain, &n);

	if (r < 0)
		return r;
	if (n)
		cert_set_names(chain[0], take_name, &t);
	for (i = 0; i < n; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	return t.r < 0 ? GNUTLS_E_MEMORY_ERROR : 0;
}

/* --- sets ------------------------------------------------------------------------------- */

static int fill_credentials(const struct sni *sni, struct set *set, struct err *e)
{
	size_t i;

	if (gnutls_certificate_allocate_credentials(&set->cred) < 0)
		return err_set(e, ERR_RUNTIME, "no memory");
	/* sessions leave it behind before a client's certificate comes: should one not, nothing is trusted */
	gnutls_certificate_set_verify_function(set->cred, verify_callback);
	for (i = 0; i < set->n; i++)
		if (cert_pair_put(&sni->pairs[set->cert[i]], set->cred, e) < 0)
			return -1;
	return 0;
}

/* Takes `cert`, which is n long; the set of these, which is new or there already, in *out. */
static int give_set(struct sni *sni, unsigned *cert, size_t n, size_t *out, struct err *e)
{
	struct set *sets, *set;
	size_t i;

	for (i = 0; i < sni->n_sets; i++) {
		set = &sni->sets[i];
		if (set->n == n && memcmp(set->cert, cert, n * sizeof(*cert)) == 0) {
			free(cert);
			*out = i;
			return 0;
		}
	}
	sets = reallocarray(sni->sets, sni->n_sets + 1, sizeof(*sets));
	if (!sets) {
		free(cert);
		return err_set(e, ERR_RUNTIME, "no memory");
	}
	sni->sets = sets;
	sets[i] = (struct set){ .cert = cert, .n = n };
	*out = sni->n_sets++;
	return n == sni->n ? 0 : fill_credentials(sni, &sets[i], e);
}

static int make_set(struct sni *sni, size_t first, size_t n, struct err *e)
{
	unsigned *cert = calloc(n, sizeof(*cert));
	size_t i;

	if (!cert)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (i = 0; i < n; i++)
		cert[i] = sni->names.v[first + i].cert;
	return give_set(sni, cert, n, &sni->set_of[first], e);
}

/* Those that share a name with the first, or, where it has none, have none either. */
static void mark_like_first(const struct sni *sni, bool *like)
{
	const struct sni_name *v = sni->names.v;
	bool named = false;
	size_t i, head = 0;

	for (i = 0; i < sni->names.n; i++)
		named |= v[i].cert == 0;
	for (i = 0; i < sni->n; i++)
		like[i] = i == 0 || !named;
	for (i = 0; i < sni->names.n; i++) {
		if (i && strcmp(v[i].text, v[head].text) != 0)
			head = i;
		if (!named)
			like[v[i].cert] = false;
		else if (v[head].cert == 0) /* a name's first entry has its first certificate */
			like[v[i].cert] = true;
	}
}

static int make_fallback(struct sni *sni, struct err *e)
{
	bool *like = calloc(sni->n, sizeof(*like));
	unsigned *cert = calloc(sni->n, sizeof(*cert)), c;
	size_t n = 0;

	if (!like || !cert) {
		free(like);
		free(cert);
		return err_set(e, ERR_RUNTIME, "no memory");
	}
	mark_like_first(sni, like);
	for (c = 0; c < sni->n; c++)
		if (like[c])
			cert[n++] = c;
	free(like);
	return give_set(sni, cert, n, &sni->fallback, e);
}

static int make_sets(struct sni *sni, struct err *e)
{
	size_t first, n;

	sni->set_of = calloc(sni->names.n + 1, sizeof(*sni->set_of));
	if (!sni->set_of)
		return err_set(e, ERR_RUNTIME, "no memory");
	for (first = 0; first < sni->names.n; first += n) {
		n = sni_names_run(&sni->names, first);
		if (make_set(sni, first, n, e) < 0)
			return -1;
	}
	return make_fallback(sni, e);
}

/* --- the whole -------------------------------------------------------------------------- */

static int fill(struct sni *sni, struct err *e)
{
	unsigned i;
	int r;

	for (i = 0; i < sni->n; i++) {
		r = take_names(sni, i);
		if (r < 0)
			return tlserr_set(e, ERR_RUNTIME, r, "--cert: cannot read the names of a certificate");
	}
	sni_names_sort(&sni->names);
	return make_sets(sni, e);
}

int sni_new(struct sni **out, gnutls_certificate_credentials_t all, const struct cert_pair *pairs, unsigned n,
	struct err *e)
{
	struct sni *sni;
	int r;

	*out = NULL;
	if (n < 2)
		return 0;
	sni = calloc(1, sizeof(*sni));
	if (!sni)
		return err_set(e, ERR_RUNTIME, "no memory");
	sni->all = all;
	sni->pairs = pairs;
	sni->n = n;
	r = fill(sni, e);
	sni->pairs = NULL;
	if (r == 0 && (sni->n_sets > 1 || sni->sets[0].cred))
		*out = sni;
	else
		sni_free(sni); /* each name is on all of them */
	return r;
}

void sni_free(struct sni *sni)
{
	size_t i;

	if (!sni)
		return;
	for (i = 0; i < sni->n_sets; i++) {
		if (sni->sets[i].cred)
			gnutls_certificate_free_credentials(sni->sets[i].cred);
		free(sni->sets[i].cert);
	}
	free(sni->sets);
	free(sni->set_of);
	sni_names_free(&sni->names);
	free(sni);
}

gnutls_certificate_credentials_t sni_find(const struct sni *sni, const char *asked, size_t n)
{
	size_t first = 0, found = n ? sni_names_find(&sni->names, asked, n, &first) : 0;
	const struct set *set = &sni->sets[found ? sni->set_of[first] : sni->fallback];

	return set->cred ? set->cred : sni->all;
}

/* --- sessions --------------------------------------------------------------------------- */

/* For each ClientHello, that behind a HelloRetryRequest too. */
static int on_client_hello(gnutls_session_t gs)
{
	struct session *s = gnutls_session_get_ptr(gs);
	char asked[ASKED_SIZE];
	size_t n = sizeof(asked);
	unsigned type;

	if (gnutls_server_name_get(gs, asked, &n, &type, 0) < 0 || type != GNUTLS_NAME_DNS)
		n = 0;
	return gnutls_credentials_set(gs, GNUTLS_CRD_CERTIFICATE, sni_find(s->config->sni, asked, n));
}

void sni_watch(struct session *s)
{
	gnutls_handshake_set_post_client_hello_function(s->gs, on_client_hello);
}

int sni_chosen(struct session *s)
{
	return gnutls_credentials_set(s->gs, GNUTLS_CRD_CERTIFICATE, s->config->cert);
}
