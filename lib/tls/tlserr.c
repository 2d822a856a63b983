/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/tlserr.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* GnuTLS's own texts are for developers in some places; these are said in
 * terms of what the user sees. */
static const struct {
	int code;
	enum err_kind kind;
	const char *text;
} table[] = {
	{ GNUTLS_E_PREMATURE_TERMINATION, ERR_TRUNCATED, "truncated: the peer closed without close_notify" },
	{ GNUTLS_E_UNEXPECTED_PACKET_LENGTH, ERR_HANDSHAKE, "a record of an impossible length came" },
	{ GNUTLS_E_RECORD_OVERFLOW, ERR_HANDSHAKE, "a record over the size limit came" },
	{ GNUTLS_E_UNEXPECTED_PACKET, ERR_HANDSHAKE, "not TLS, or an unexpected record came" },
	{ GNUTLS_E_DECRYPTION_FAILED, ERR_HANDSHAKE, "a record failed authentication (bad_record_mac)" },
	{ GNUTLS_E_UNSUPPORTED_VERSION_PACKET, ERR_HANDSHAKE, "not TLS, or no common TLS version" },
	{ GNUTLS_E_NO_CIPHER_SUITES, ERR_HANDSHAKE, "no common cipher suite" },
	{ GNUTLS_E_NO_COMMON_KEY_SHARE, ERR_HANDSHAKE, "no common group" },
	{ GNUTLS_E_INSUFFICIENT_CREDENTIALS, ERR_HANDSHAKE, "no common way to authenticate: the peer wants a certificate or PSK that is not set" },
	{ GNUTLS_E_UNKNOWN_SRP_USERNAME, ERR_AUTH, "the PSK identity is unknown" },
	{ GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER, ERR_HANDSHAKE, "the peer sent an illegal parameter (for a PSK: a wrong key)" },
	{ GNUTLS_E_NO_CERTIFICATE_FOUND, ERR_AUTH, "the peer sent no certificate" },
	{ GNUTLS_E_CERTIFICATE_REQUIRED, ERR_AUTH, "the peer sent no certificate" },
	{ GNUTLS_E_CERTIFICATE_ERROR, ERR_AUTH, "the peer's certificate was refused" },
	{ GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR, ERR_AUTH, "the peer's certificate was refused" },
	{ GNUTLS_E_PK_SIG_VERIFY_FAILED, ERR_AUTH, "the peer's signature is wrong" },
	{ GNUTLS_E_NO_APPLICATION_PROTOCOL, ERR_HANDSHAKE, "no common ALPN protocol" },
	{ GNUTLS_E_INAPPROPRIATE_FALLBACK, ERR_HANDSHAKE, "the peer fell back to an older version without need" },
	{ GNUTLS_E_TOO_MANY_EMPTY_PACKETS, ERR_HANDSHAKE, "too many empty records came" },
	{ GNUTLS_E_TOO_MANY_HANDSHAKE_PACKETS, ERR_HANDSHAKE, "too many handshake messages came" },
};

int tlserr_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	char text[sizeof(e->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, kind, "%s: %s", text, gnutls_strerror(code));
}

void tlserr_alert_name(gnutls_alert_description_t a, char *out, size_t size)
{
	const char *name = gnutls_alert_get_strname(a);
	size_t i;

	if (!name)
		name = "unknown";
	if (strncmp(name, "GNUTLS_A_", 9) == 0)
		name += 9;
	for (i = 0; name[i] && i + 1 < size; i++)
		out[i] = (char)tolower((unsigned char)name[i]);
	out[i] = '\0';
}

static int alert_received(struct err *e, gnutls_session_t s)
{
	gnutls_alert_description_t a = gnutls_alert_get(s);
	char name[64];
	enum err_kind kind = ERR_HANDSHAKE;
	const char *hint = "";

	switch (a) {
	case GNUTLS_A_BAD_CERTIFICATE:
	case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
	case GNUTLS_A_CERTIFICATE_REVOKED:
	case GNUTLS_A_CERTIFICATE_EXPIRED:
	case GNUTLS_A_CERTIFICATE_UNKNOWN:
	case GNUTLS_A_UNKNOWN_CA:
	case GNUTLS_A_ACCESS_DENIED:
		hint = ": the peer does not accept our certificate";
		break;
	case GNUTLS_A_CERTIFICATE_REQUIRED:
		hint = ": the peer wants a client certificate (--cert, --key)";
		break;
	case GNUTLS_A_UNKNOWN_PSK_IDENTITY:
	case GNUTLS_A_DECRYPT_ERROR:
		hint = ": a wrong PSK or signature";
		break;
	case GNUTLS_A_UNRECOGNIZED_NAME:
		hint = ": the peer does not serve this name (--servername)";
		break;
	case GNUTLS_A_HANDSHAKE_FAILURE:
	case GNUTLS_A_PROTOCOL_VERSION:
	case GNUTLS_A_INSUFFICIENT_SECURITY:
		hint = ": no common version, suite, group or credentials";
		break;
	default:
		break;
	}
	tlserr_alert_name(a, name, sizeof(name));
	return err_set(e, kind, "the peer sent alert %s (%d)%s", name, (int)a, hint);
}

int tlserr_renegotiation(struct err *e)
{
	return err_set(e, ERR_HANDSHAKE, "the peer wants to renegotiate, which is refused");
}

int tlserr_session(struct err *e, gnutls_session_t s, int code)
{
	size_t i;

	if (code == GNUTLS_E_FATAL_ALERT_RECEIVED || code == GNUTLS_E_WARNING_ALERT_RECEIVED)
		return alert_received(e, s);
	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].code == code)
			return err_set(e, table[i].kind, "%s", table[i].text);
	return err_set(e, ERR_HANDSHAKE, "TLS: %s", gnutls_strerror(code));
}
