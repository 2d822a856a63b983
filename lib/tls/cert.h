/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_CERT_H
#define TLSKIT_TLS_CERT_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Certificates, private keys and pins. */

#define CERT_PIN_SIZE 32 /* SHA-256 of the SubjectPublicKeyInfo (RFC 7469, 2.4) */
#define CERT_PIN_TEXT 56 /* "sha256:" + 44 characters of base64 + NUL, rounded up */

/* A self-signed ECDSA P-256 certificate for this process, or, with dir, one
 * that is kept there (cert.pem, key.pem with mode 0600) and used again.
 * pin: of its key. */
int cert_ephemeral(gnutls_certificate_credentials_t cred, const char *dir, uint8_t pin[CERT_PIN_SIZE], struct err *e);

/* The pin of a certificate. 0 or -1 (a key GnuTLS cannot export). */
int cert_pin(gnutls_x509_crt_t crt, uint8_t pin[CERT_PIN_SIZE]);

/* "sha256:BASE64" (RFC 7469 spelling; "sha256/BASE64" and "sha256//BASE64" as
 * curl has it too). ERR_CONFIG names `option`. */
int cert_pin_parse(const char *option, const char *text, uint8_t pin[CERT_PIN_SIZE], struct err *e);
char *cert_pin_format(const uint8_t pin[CERT_PIN_SIZE], char out[CERT_PIN_TEXT]);

/* Reads a whole file for an option; the datum is gnutls_malloc'ed. Secrets in
 * it are the caller's to wipe. */
int cert_read_file(const char *option, const char *path, gnutls_datum_t *out, struct err *e);

/* Wipes and frees. */
void cert_wipe_datum(gnutls_datum_t *d);

#endif
