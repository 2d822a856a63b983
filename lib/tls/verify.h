/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_TLS_VERIFY_H
#define TLSKIT_TLS_VERIFY_H

#include <gnutls/gnutls.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/tls/cert.h"

/* Whether a peer is who it must be. */

/* One --allow: any of them may match. Names are compared without wildcards:
 * dns and email without regard to ASCII case, the others to the letter. */
enum verify_rule_kind { VERIFY_CN, VERIFY_OU, VERIFY_DNS, VERIFY_URI, VERIFY_EMAIL, VERIFY_PIN };

struct verify_rule {
	enum verify_rule_kind kind;
	char *value; /* owned; NULL for a pin */
	uint8_t pin[CERT_PIN_SIZE];
};

/* "cn:NAME", "dns:NAME", "uri:URI", "email:ADDR", "ou:NAME", "pin:sha256:BASE64".
 * ERR_CONFIG otherwise. */
int verify_rule_parse(const char *text, struct verify_rule *out, struct err *e);
void verify_rules_free(struct verify_rule *rules, size_t n);

/* GnuTLS's certificate callback: the session's pointer is a struct session. It
 * keeps the reason in the session, and returns 0, GNUTLS_E_CERTIFICATE_ERROR, or
 * GNUTLS_E_AGAIN where the judge wants time. */
int verify_callback(gnutls_session_t gs);

/* The last word, once a handshake is over: whether somebody was authenticated in
 * the way that the configuration asks for. A resumed session, in which no
 * certificate is sent, has what its ticket carries held against the
 * configuration of today. 0, or -1 with the reason in the session. */
struct session;
int verify_done(struct session *s);

/* The alert that tells the peer why it was refused (RFC 8446, 6.2). */
gnutls_alert_description_t verify_alert(const struct session *s);

#endif
