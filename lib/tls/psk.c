/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/psk.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/units.h"
#include "lib/tls/cert.h"

#include <sys/stat.h>

#define PSK_KEY_MIN 16
#define PSK_KEY_MAX 64
#define PSK_IDENTITY_MAX 128

struct psk_entry {
	char *identity;
	gnutls_datum_t key;
};

struct psk_table {
	struct psk_entry *first; /* of the file, in `sorted` */
	struct psk_entry *sorted;
	size_t n;
};

static int by_identity(const void *a, const void *b)
{
	return strcmp(((const struct psk_entry *)a)->identity, ((const struct psk_entry *)b)->identity);
}

static void entry_wipe(struct psk_entry *p)
{
	free(p->identity);
	if (p->key.data)
		gnutls_memset(p->key.data, 0, p->key.size);
	free(p->key.data);
}

void psk_free(struct psk_table *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n; i++)
		entry_wipe(&t->sorted[i]);
	free(t->sorted);
	free(t);
}

static int parse_line(struct psk_entry *p, const char *path, unsigned line, char *text, size_t len, struct err *e)
{
	uint8_t key[PSK_KEY_MAX];
	char *colon = memrchr(text, ':', len); /* identities may hold colons, hex does not */
	size_t id_len = colon ? (size_t)(colon - text) : 0;
	long n;

	if (!id_len || id_len > PSK_IDENTITY_MAX || memchr(text, '\0', len))
		return err_set(e, ERR_CONFIG, "--psk-file %s line %u: expected IDENTITY:HEXKEY", path, line);
	n = units_parse_hex(colon + 1, len - id_len - 1, key, sizeof(key));
	if (n < 0)
		return err_set(e, ERR_CONFIG, "--psk-file %s line %u: the key is not hexadecimal, or over %d bytes", path,
			line, PSK_KEY_MAX);
	if (n < PSK_KEY_MIN) {
		gnutls_memset(key, 0, sizeof(key));
		return err_set(e, ERR_CONFIG, "--psk-file %s line %u: the key has %ld bytes; it needs at least %d", path,
			line, n, PSK_KEY_MIN);
	}
	p->identity = strndup(text, id_len);
	p->key.data = malloc((size_t)n);
	p->key.size = (unsigned)n;
	if (p->key.data)
		memcpy(p->key.data, key, (size_t)n);
	gnutls_memset(key, 0, sizeof(key));
	return p->identity && p->key.data ? 0 : err_set(e, ERR_RUNTIME, "no memory");
}

static int add_line(struct psk_table *t, const char *path, unsigned line, char *text, size_t len, struct err *e)
{
	struct psk_entry *p;

	while (len && (text[len - 1] == '\r' || text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (!len || text[0] == '#')
		return 0;
	p = realloc(t->sorted, (t->n + 1) * sizeof(*p));
	if (!p)
		return err_set(e, ERR_RUNTIME, "no memory");
	t->sorted = p;
	memset(&p[t->n], 0, sizeof(*p));
	return parse_line(&p[t->n++], path, line, text, len, e);
}

static int finish(struct psk_table *t, const char *path, struct err *e)
{
	struct psk_entry first;
	size_t i;

	if (!t->n)
		return err_set(e, ERR_CONFIG, "--psk-file %s: no key in this file", path);
	first = t->sorted[0];
	qsort(t->sorted, t->n, sizeof(*t->sorted), by_identity);
	for (i = 1; i < t->n; i++)
		if (by_identity(&t->sorted[i - 1], &t->sorted[i]) == 0)
			return err_set(e, ERR_CONFIG, "--psk-file %s: identity \"%.80s\" stands there twice", path,
				t->sorted[i].identity);
	for (i = 0; i < t->n; i++)
		if (t->sorted[i].identity == first.identity)
			t->first = &t->sorted[i];
	return 0;
}

static void warn_mode(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
		log_msg(LOG_WARN, "--psk-file %s: everybody on this machine can read these keys (chmod 600)", path);
}

struct psk_table *psk_load(const char *path, struct err *e)
{
	struct psk_table *t = calloc(1, sizeof(*t));
	gnutls_datum_t d = { NULL, 0 };
	unsigned line = 0;
	char *p, *end;
	int r = -1;

	if (!t) {
		err_set(e, ERR_RUNTIME, "no memory");
		return NULL;
	}
	if (cert_read_file("--psk-file", path, &d, e) < 0)
		goto out;
	for (p = (char *)d.data, end = p + d.size; p < end;) {
		char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);

		if (add_line(t, path, ++line, p, len, e) < 0)
			goto out;
		p += len + 1;
	}
	r = finish(t, path, e);
	warn_mode(path);
out:
	cert_wipe_datum(&d);
	if (r < 0) {
		psk_free(t);
		return NULL;
	}
	return t;
}

const gnutls_datum_t *psk_find(const struct psk_table *t, const void *identity, size_t len)
{
	struct psk_entry want = { 0 }, *found;
	char name[PSK_IDENTITY_MAX + 1];

	if (len > PSK_IDENTITY_MAX || memchr(identity, '\0', len))
		return NULL;
	memcpy(name, identity, len);
	name[len] = '\0';
	want.identity = name;
	found = bsearch(&want, t->sorted, t->n, sizeof(*t->sorted), by_identity);
	return found ? &found->key : NULL;
}

const gnutls_datum_t *psk_first(const struct psk_table *t, const char **identity)
{
	*identity = t->first->identity;
	return &t->first->key;
}
