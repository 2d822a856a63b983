/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/cert_pair.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/log.h"
#include "lib/tls/cert.h"
#include "lib/tls/cert_set.h"
#include "lib/tls/signer.h"
#include "lib/tls/tlserr.h"

static bool is_url(const char *name)
{
	return gnutls_url_is_supported(name) != 0;
}

static bool is_pem(const gnutls_datum_t *d)
{
	return memmem(d->data, d->size, "-----BEGIN", 10) != NULL;
}

/* --- files -------------------------------------------------------------------------- */

static int import_chain(struct cert_pair *c, const char *path, const gnutls_datum_t *d, struct err *e)
{
	gnutls_x509_crt_fmt_t fmt = is_pem(d) ? GNUTLS_X509_FMT_PEM : GNUTLS_X509_FMT_DER;
	int r = gnutls_x509_crt_list_import2(&c->crt, &c->n, d, fmt, GNUTLS_X509_CRT_LIST_SORT);

	if (r >= 0)
		return 0;
	c->crt = NULL;
	c->n = 0;
	if (r == GNUTLS_E_NO_CERTIFICATE_FOUND)
		return err_set(e, ERR_CONFIG, "--cert %s: no certificate in this file", path);
	return tlserr_set(e, ERR_CONFIG, r, "--cert %s", path);
}

static void warn_dates(const char *path, gnutls_x509_crt_t crt)
{
	time_t now = time(NULL);

	if (gnutls_x509_crt_get_expiration_time(crt) < now)
		log_msg(LOG_WARN, "--cert %s: the certificate has expired and will be refused", path);
	else if (gnutls_x509_crt_get_activation_time(crt) > now)
		log_msg(LOG_WARN, "--cert %s: the certificate is not valid yet and will be refused", path);
}

static void warn_mode(const char *option, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
		log_msg(LOG_WARN, "%s %s: everybody on this machine can read this key (chmod 600)", option, path);
}

static int import_key(gnutls_x509_privkey_t key, const char *option, const char *path, const gnutls_datum_t *d,
	struct err *e)
{
	gnutls_x509_crt_fmt_t fmt = is_pem(d) ? GNUTLS_X509_FMT_PEM : GNUTLS_X509_FMT_DER;
	int r = gnutls_x509_privkey_import2(key, d, fmt, NULL, 0);

	if (r >= 0)
		return 0;
	if (memmem(d->data, d->size, "ENCRYPTED", 9))
		return err_set(e, ERR_CONFIG, "%s %s: the key is encrypted; store it without a passphrase and mode 0600",
			option, path);
	if (fmt == GNUTLS_X509_FMT_PEM && !memmem(d->data, d->size, "PRIVATE KEY-----", 16))
		return err_set(e, ERR_CONFIG, "%s %s: no private key in this file%s", option, path,
			strcmp(option, "--cert") == 0 ? "; name the key file with --key" : "");
	return tlserr_set(e, ERR_CONFIG, r, "%s %s: not a private key", option, path);
}

static int read_chain(struct cert_pair *p, const gnutls_datum_t *d, struct err *e)
{
	if (import_chain(p, p->cert, d, e) < 0)
		return -1;
	if (gnutls_x509_privkey_init(&p->key) < 0) {
		p->key = NULL;
		return err_set(e, ERR_RUNTIME, "no memory");
	}
	return 0;
}

static int load_files(struct cert_pair *p, bool server, struct err *e)
{
	const char *option = p->key_name ? "--key" : "--cert", *name = p->key_name ? p->key_name : p->cert;
	gnutls_datum_t cert = { NULL, 0 }, key = { NULL, 0 };
	int r = -1;

	if (cert_read_file("--cert", p->cert, &cert, e) < 0)
		goto out;
	if (p->key_name && cert_read_file("--key", p->key_name, &key, e) < 0)
		goto out;
	if (read_chain(p, &cert, e) < 0 || import_key(p->key, option, name, p->key_name ? &key : &cert, e) < 0)
		goto out;
	p->signer = server ? signer_new(p->key) : NULL;
	warn_dates(p->cert, p->crt[0]);
	warn_mode(option, name);
	r = 0;
out:
	cert_wipe_datum(&cert);
	cert_wipe_datum(&key);
	return r;
}

/* --- tokens ------------------------------------------------------------------------- */

/* How much of a pkcs11: URL may be shown: not its PIN (RFC 7512, 2.4), nor what is behind. */
static int length_to_show(const char *url)
{
	const char *pin = strstr(url, "pin-value=");

	return (int)(pin ? (size_t)(pin - url) : strlen(url));
}

bool cert_pair_in_token(const struct cert_pair *p)
{
	return is_url(p->key_name ? p->key_name : p->cert);
}

static int put_token(const struct cert_pair *p, gnutls_certificate_credentials_t cred, struct err *e)
{
	const char *cert = p->cert, *key = p->key_name ? p->key_name : cert;
	int r = gnutls_certificate_set_x509_key_file2(cred, cert, key, GNUTLS_X509_FMT_PEM, NULL, 0);

	if (r < 0)
		return tlserr_set(e, ERR_CONFIG, r, "--cert %.*s, --key %.*s", length_to_show(cert), cert, length_to_show(key), key);
	return 0;
}

/* --- both --------------------------------------------------------------------------- */

int cert_pair_load(struct cert_pair *p, const char *cert, const char *key, bool server, struct err *e)
{
	*p = (struct cert_pair){ .cert = cert, .key_name = key };
	if (is_url(cert) || cert_pair_in_token(p))
		return 0;
	if (load_files(p, server, e) == 0)
		return 0;
	cert_pair_free(p);
	return -1;
}

int cert_pair_put(const struct cert_pair *p, gnutls_certificate_credentials_t cred, struct err *e)
{
	int r;

	if (!p->key)
		return put_token(p, cred, e);
	r = cert_set(cred, p->crt, p->n, p->key, p->signer);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return err_set(e, ERR_CONFIG, "--key %s: does not belong to the certificate in --cert %s",
			p->key_name ? p->key_name : p->cert, p->cert);
	return r < 0 ? tlserr_set(e, ERR_CONFIG, r, "--cert %s", p->cert) : 0;
}

void cert_pair_free(struct cert_pair *p)
{
	unsigned i;

	for (i = 0; i < p->n; i++)
		gnutls_x509_crt_deinit(p->crt[i]);
	gnutls_free(p->crt);
	gnutls_x509_privkey_deinit(p->key);
	signer_free(p->signer);
	*p = (struct cert_pair){ 0 };
}
