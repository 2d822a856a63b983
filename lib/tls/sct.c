/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/sct.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* GnuTLS 3.7 has gnutls_x509_ext_ct_import_scts, but it refuses a timestamp with
 * extensions (logs of the static-ct-api put the leaf's index there) or with a
 * signature algorithm that it does not know, overlooks bytes behind the list, leaks
 * when it fails, and gives whole seconds. So the list is read here; the tests hold
 * one against the other. */

#define OID_SCT_LIST "1.3.6.1.4.1.11129.2.4.2"

#define LOG_SIZE 32

struct reader {
	const uint8_t *p;
	size_t n;
};

static bool take(struct reader *r, size_t n, struct reader *out)
{
	if (n > r->n)
		return false;
	*out = (struct reader){ r->p, n };
	r->p += n;
	r->n -= n;
	return true;
}

static bool take_number(struct reader *r, size_t bytes, uint64_t *out)
{
	struct reader v;

	if (!take(r, bytes, &v))
		return false;
	for (*out = 0; v.n > 0; v.n--)
		*out = *out << 8 | *v.p++;
	return true;
}

/* opaque x<0..2^16-1> */
static bool take_vector(struct reader *r, struct reader *out)
{
	uint64_t n;

	return take_number(r, 2, &n) && take(r, (size_t)n, out);
}

static bool read_log(struct reader *r, struct sct *s)
{
	gnutls_datum_t raw, text = { NULL, 0 };
	struct reader id;
	bool ok;

	if (!take(r, LOG_SIZE, &id))
		return false;
	raw = (gnutls_datum_t){ (unsigned char *)(uintptr_t)id.p, LOG_SIZE };
	ok = gnutls_base64_encode2(&raw, &text) == 0 && text.size < sizeof(s->log);
	if (ok)
		memcpy(s->log, text.data, text.size);
	gnutls_free(text.data);
	return ok;
}

/* RFC 6962, 3.2. NULL, or what is wrong with it. */
static const char *read_sct(struct reader r, struct sct *s)
{
	struct reader extensions, signature;
	uint64_t version, algorithm;

	if (!take_number(&r, 1, &version))
		return "it is empty";
	s->version = (unsigned)version + 1;
	if (s->version != 1)
		return NULL;
	if (!read_log(&r, s) || !take_number(&r, 8, &s->timestamp_ms) || !take_vector(&r, &extensions) ||
	    !take_number(&r, 2, &algorithm) || !take_vector(&r, &signature))
		return "it ends early";
	return r.n > 0 ? "there is more behind its signature" : NULL;
}

/* Each takes up three bytes at least. */
static int read_list(struct reader r, struct sct_list *out, struct err *e)
{
	struct reader one;
	const char *fault;

	out->v = calloc(r.n / 3 + 1, sizeof(*out->v));
	if (out->v == NULL)
		return err_set(e, ERR_RUNTIME, "no memory");
	while (r.n > 0) {
		if (!take_vector(&r, &one))
			return err_set(e, ERR_RUNTIME, "malformed list of SCTs: number %zu is cut off", out->n + 1);
		fault = read_sct(one, &out->v[out->n]);
		if (fault != NULL)
			return err_set(e, ERR_RUNTIME, "malformed SCT, number %zu: %s", out->n + 1, fault);
		out->n++;
	}
	return 0;
}

int sct_parse(const void *data, size_t n, struct sct_list *out, struct err *e)
{
	struct reader all = { data, n }, list;

	*out = (struct sct_list){ NULL, 0 };
	if (!take_vector(&all, &list))
		return err_set(e, ERR_RUNTIME, "malformed list of SCTs: it is cut off");
	if (all.n > 0)
		return err_set(e, ERR_RUNTIME, "malformed list of SCTs: %zu bytes behind it", all.n);
	if (list.n == 0)
		return err_set(e, ERR_RUNTIME, "malformed list of SCTs: it is empty");
	if (read_list(list, out, e) == 0)
		return 0;
	sct_list_free(out);
	return -1;
}

/* The contents of a DER OCTET STRING that fills data. */
static bool octet_string(struct reader all, struct reader *out)
{
	uint64_t tag, length;

	if (!take_number(&all, 1, &tag) || tag != 0x04 || !take_number(&all, 1, &length))
		return false;
	if (length > 0x82 || length == 0x80)
		return false;
	if (length > 0x80 && !take_number(&all, (size_t)length & 0x7f, &length))
		return false;
	return take(&all, (size_t)length, out) && all.n == 0;
}

int sct_of_cert(gnutls_x509_crt_t crt, struct sct_list *out, struct err *e)
{
	gnutls_datum_t ext = { NULL, 0 };
	struct reader list;
	int r;

	*out = (struct sct_list){ NULL, 0 };
	r = gnutls_x509_crt_get_extension_by_oid2(crt, OID_SCT_LIST, 0, &ext, NULL);
	if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
		return 0;
	if (r < 0)
		return err_set(e, ERR_RUNTIME, "the SCTs of the certificate: %s", gnutls_strerror(r));
	if (octet_string((struct reader){ ext.data, ext.size }, &list))
		r = sct_parse(list.p, list.n, out, e);
	else
		r = err_set(e, ERR_RUNTIME, "malformed list of SCTs: no octet string");
	gnutls_free(ext.data);
	return r;
}

void sct_list_free(struct sct_list *l)
{
	free(l->v);
	*l = (struct sct_list){ NULL, 0 };
}
