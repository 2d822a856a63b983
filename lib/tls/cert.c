/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/cert.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/tls/cert_pair.h"
#include "lib/tls/cert_set.h"
#include "lib/tls/signer.h"

#define CERT_FILE_MAX (1 << 20)
#define PIN_BASE64    44
#define CERT_DAY      (24 * 3600)

void cert_wipe_datum(gnutls_datum_t *d)
{
	if (!d->data)
		return;
	gnutls_memset(d->data, 0, d->size);
	gnutls_free(d->data);
	d->data = NULL;
	d->size = 0;
}

static int read_all(int fd, const char *option, const char *path, gnutls_datum_t *out, struct err *e)
{
	size_t cap = 16384, len = 0;
	unsigned char *p = gnutls_malloc(cap + 1), *q;
	ssize_t n;

	while (p && (n = read(fd, p + len, cap - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_sys(e, ERR_CONFIG, errno, "%s %s: cannot read", option, path);
			goto fail;
		}
		len += (size_t)n;
		if (len > CERT_FILE_MAX) {
			err_set(e, ERR_CONFIG, "%s %s: larger than 1 MiB; is it the right file?", option, path);
			goto fail;
		}
		if (len == cap) {
			q = gnutls_malloc(2 * cap + 1); /* no realloc: it would leave secrets behind */
			if (q)
				memcpy(q, p, len);
			gnutls_memset(p, 0, len);
			gnutls_free(p);
			p = q;
			cap *= 2;
		}
	}
	if (!p)
		return err_set(e, ERR_RUNTIME, "no memory");
	p[len] = '\0';
	out->data = p;
	out->size = (unsigned)len;
	return 0;
fail:
	gnutls_memset(p, 0, len);
	gnutls_free(p);
	return -1;
}

int cert_read_file(const char *option, const char *path, gnutls_datum_t *out, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int r;

	out->data = NULL;
	out->size = 0;
	if (fd < 0)
		return err_sys(e, ERR_CONFIG, errno, "%s %s: cannot open", option, path);
	r = read_all(fd, option, path, out, e);
	if (!is_stdin)
		close(fd);
	if (r == 0 && out->size == 0) {
		cert_wipe_datum(out);
		return err_set(e, ERR_CONFIG, "%s %s: the file is empty", option, path);
	}
	return r;
}

/* --- pins ------------------------------------------------------------------ */

static int pin_of_pubkey(gnutls_pubkey_t pub, uint8_t pin[CERT_PIN_SIZE])
{
	gnutls_datum_t der = { NULL, 0 };
	int r = gnutls_pubkey_export2(pub, GNUTLS_X509_FMT_DER, &der);

	if (r == 0)
		r = gnutls_hash_fast(GNUTLS_DIG_SHA256, der.data, der.size, pin);
	gnutls_free(der.data);
	return r < 0 ? -1 : 0;
}

int cert_pin(gnutls_x509_crt_t crt, uint8_t pin[CERT_PIN_SIZE])
{
	gnutls_pubkey_t pub;
	int r;

	if (gnutls_pubkey_init(&pub) < 0)
		return -1;
	r = gnutls_pubkey_import_x509(pub, crt, 0);
	if (r == 0)
		r = pin_of_pubkey(pub, pin);
	gnutls_pubkey_deinit(pub);
	return r < 0 ? -1 : 0;
}

char *cert_pin_format(const uint8_t pin[CERT_PIN_SIZE], char out[CERT_PIN_TEXT])
{
	gnutls_datum_t raw = { (unsigned char *)pin, CERT_PIN_SIZE }, b64 = { NULL, 0 };

	out[0] = '\0';
	if (gnutls_base64_encode2(&raw, &b64) == 0)
		snprintf(out, CERT_PIN_TEXT, "sha256:%.*s", (int)b64.size, (const char *)b64.data);
	gnutls_free(b64.data);
	return out;
}

int cert_pin_parse(const char *option, const char *text, uint8_t pin[CERT_PIN_SIZE], struct err *e)
{
	gnutls_datum_t raw = { NULL, 0 }, b64;
	const char *p = text;
	int r;

	if (strncmp(p, "sha256", 6) != 0 || (p[6] != ':' && p[6] != '/'))
		return err_set(e, ERR_CONFIG, "%s \"%.80s\": expected sha256:BASE64, the hash of a public key", option,
			text);
	p += 7;
	/* curl has a second slash; but base64 may begin with one, too */
	if (p[-1] == '/' && *p == '/' && strlen(p) == PIN_BASE64 + 1)
		p++;
	b64.data = (unsigned char *)p;
	b64.size = (unsigned)strlen(p);
	r = b64.size > 64 ? GNUTLS_E_BASE64_DECODING_ERROR : gnutls_base64_decode2(&b64, &raw);
	if (r == 0 && raw.size == CERT_PIN_SIZE)
		memcpy(pin, raw.data, CERT_PIN_SIZE);
	else
		r = err_set(e, ERR_CONFIG, "%s \"%.80s\": not a SHA-256 in base64 (44 characters, 32 bytes)", option,
			text);
	gnutls_free(raw.data);
	return r;
}

/* --- the ephemeral certificate ------------------------------------------------ */

static int fill_certificate(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	unsigned char serial[16];
	time_t now = time(NULL);
	char host[256] = "";

	if (gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial)) < 0)
		return -1;
	serial[0] = (serial[0] & 0x7f) | 0x40; /* positive and of full length (RFC 5280, 4.1.2.2) */
	if (gnutls_x509_crt_set_version(crt, 3) < 0 || gnutls_x509_crt_set_serial(crt, serial, sizeof(serial)) < 0 ||
		gnutls_x509_crt_set_activation_time(crt, now - CERT_DAY) < 0 ||
		gnutls_x509_crt_set_expiration_time(crt, now + 3650LL * CERT_DAY) < 0 ||
		gnutls_x509_crt_set_dn(crt, "CN=tlskit ephemeral", NULL) < 0 ||
		gnutls_x509_crt_set_key(crt, key) < 0 ||
		gnutls_x509_crt_set_basic_constraints(crt, 0, -1) < 0 ||
		gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE) < 0 ||
		gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0) < 0 ||
		gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET) < 0)
		return -1;
	if (gethostname(host, sizeof(host) - 1) == 0 && host[0] && strcmp(host, "localhost") != 0)
		gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host, (unsigned)strlen(host),
			GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) < 0 ? -1 : 0;
}

static int make_pair(gnutls_x509_crt_t *crt, gnutls_x509_privkey_t *key, struct err *e)
{
	if (gnutls_x509_crt_init(crt) < 0 || gnutls_x509_privkey_init(key) < 0 ||
		gnutls_x509_privkey_generate(*key, GNUTLS_PK_ECDSA,
			GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) < 0 ||
		fill_certificate(*crt, *key) < 0)
		return err_set(e, ERR_RUNTIME, "cannot make an ephemeral certificate");
	return 0;
}

/* Writes beside the name and renames, so that a reader never sees half a file. */
static int write_private(const char *path, const gnutls_datum_t *d, mode_t mode, struct err *e)
{
	char tmp[PATH_MAX];
	int fd, r;

	if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp))
		return err_set(e, ERR_CONFIG, "--cert-dir: the path is too long");
	unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return err_sys(e, ERR_CONFIG, errno, "--cert-dir: cannot write %s", tmp);
	r = write(fd, d->data, d->size) == (ssize_t)d->size && fsync(fd) == 0 ? 0 : -1;
	if (close(fd) != 0 || r < 0 || rename(tmp, path) != 0) {
		err_sys(e, ERR_CONFIG, errno, "--cert-dir: cannot write %s", path);
		unlink(tmp);
		return -1;
	}
	return 0;
}

static int keep_pair(const char *dir, const char *cert, const char *key, gnutls_x509_crt_t crt,
	gnutls_x509_privkey_t k, struct err *e)
{
	gnutls_datum_t c = { NULL, 0 }, p = { NULL, 0 };
	int r = -1;

	if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
		err_sys(e, ERR_CONFIG, errno, "--cert-dir %s: cannot make the directory", dir);
	} else if (gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &c) < 0 ||
		   gnutls_x509_privkey_export2_pkcs8(k, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &p) < 0) {
		err_set(e, ERR_RUNTIME, "cannot export the ephemeral certificate");
	} else if (write_private(key, &p, 0600, e) == 0 && write_private(cert, &c, 0644, e) == 0) {
		r = 0;
	}
	gnutls_free(c.data);
	cert_wipe_datum(&p);
	return r;
}

/* The pair that is kept in dir already. */
static int use_kept(gnutls_certificate_credentials_t cred, const char *cert, const char *key, uint8_t pin[CERT_PIN_SIZE],
	struct err *e)
{
	struct cert_pair pair;
	int r = -1;

	if (cert_pair_load(&pair, cert, key, true, e) < 0)
		return -1;
	if (cert_pin(pair.crt[0], pin) < 0)
		err_set(e, ERR_CONFIG, "cannot hash the public key of %s", cert);
	else
		r = cert_pair_put(&pair, cred, e);
	cert_pair_free(&pair);
	return r;
}

static int make_and_set(gnutls_certificate_credentials_t cred, const char *dir, const char *cert, const char *key,
	uint8_t pin[CERT_PIN_SIZE], struct err *e)
{
	gnutls_x509_privkey_t k = NULL;
	gnutls_x509_crt_t crt = NULL;
	struct signer *signer = NULL;
	int r = make_pair(&crt, &k, e);

	if (r == 0 && dir)
		r = keep_pair(dir, cert, key, crt, k, e);
	if (r == 0)
		signer = signer_new(k);
	if (r == 0 && (cert_pin(crt, pin) < 0 || cert_set(cred, &crt, 1, k, signer) < 0))
		r = err_set(e, ERR_RUNTIME, "cannot use the ephemeral certificate");
	signer_free(signer);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(k);
	return r;
}

int cert_ephemeral(gnutls_certificate_credentials_t cred, const char *dir, uint8_t pin[CERT_PIN_SIZE], struct err *e)
{
	char cert[PATH_MAX] = "", key[PATH_MAX] = "";

	if (dir) {
		if (snprintf(cert, sizeof(cert), "%s/cert.pem", dir) >= (int)sizeof(cert) ||
			snprintf(key, sizeof(key), "%s/key.pem", dir) >= (int)sizeof(key))
			return err_set(e, ERR_CONFIG, "--cert-dir: the path is too long");
		if (access(cert, F_OK) == 0)
			return use_kept(cred, cert, key, pin, e) < 0 ? err_prefix(e, "--cert-dir %s", dir) : 0;
	}
	return make_and_set(cred, dir, cert, key, pin, e);
}
