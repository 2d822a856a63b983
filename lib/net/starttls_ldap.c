/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "lib/net/starttls_int.h"

/* ldap (RFC 4511, 4.14). The one message that is read has a fixed shape, so it is
 * read as it stands, a tag, a length and a value at a time. */

enum {
	TAG_INTEGER = 0x02,
	TAG_OCTETS = 0x04,
	TAG_ENUMERATED = 0x0a,
	TAG_SEQUENCE = 0x30,
	TAG_EXTENDED_RESPONSE = 0x78, /* [APPLICATION 24], constructed */
};

struct span {
	const uint8_t *at;
	size_t n;
};

/* How long the tag and length are that at[0..n) begins with, and how long the value
 * is; 0: they are not all there; -1: a length without end, which LDAP does not allow
 * (RFC 4511, 5.1), or one beyond all bounds. */
static int header(const uint8_t *at, size_t n, size_t *value)
{
	size_t more;

	if (n < 2)
		return 0;
	*value = at[1];
	if (at[1] < 0x80)
		return 2;
	more = at[1] & 0x7f;
	if (more == 0 || more > 4)
		return -1;
	if (n < 2 + more)
		return 0;
	*value = 0;
	for (size_t i = 0; i < more; i++)
		*value = *value << 8 | at[2 + i];
	return *value <= PARLEY_LINE_MAX ? (int)(2 + more) : -1;
}

/* Takes the next value out of `from`, which must have this tag. */
static int take(struct span *from, uint8_t tag, struct span *value)
{
	int head = header(from->at, from->n, &value->n);

	if (head <= 0 || from->at[0] != tag || value->n > from->n - (size_t)head)
		return -1;
	value->at = from->at + head;
	from->at = value->at + value->n;
	from->n -= (size_t)head + value->n;
	return 0;
}

static int take_number(struct span *from, uint8_t tag, unsigned *number)
{
	struct span value;

	if (take(from, tag, &value) != 0 || value.n < 1 || value.n > 4 || value.at[0] >= 0x80)
		return -1;
	*number = 0;
	for (size_t i = 0; i < value.n; i++)
		*number = *number << 8 | value.at[i];
	return 0;
}

static ptrdiff_t frame(struct starttls *s, const uint8_t *at, size_t n, struct err *e)
{
	size_t value;
	int head;

	if (at[0] != TAG_SEQUENCE) {
		starttls_strange_byte(s, e, at[0]);
		return -1;
	}
	head = header(at, n, &value);
	if (head < 0) {
		err_set(e, ERR_HANDSHAKE,
			"what the server says is not ldap: a message with a length that is not allowed");
		return -1;
	}
	return head > 0 && value <= n - (size_t)head ? (ptrdiff_t)((size_t)head + value) : 0;
}

static const char *result_name(unsigned code)
{
	static const struct {
		unsigned code;
		const char *name;
	} rows[] = {
		{ 0, "success" },
		{ 1, "operationsError" },
		{ 2, "protocolError" },
		{ 7, "authMethodNotSupported" },
		{ 8, "strongerAuthRequired" },
		{ 10, "referral" },
		{ 11, "adminLimitExceeded" },
		{ 13, "confidentialityRequired" },
		{ 50, "insufficientAccessRights" },
		{ 51, "busy" },
		{ 52, "unavailable" },
		{ 53, "unwillingToPerform" },
		{ 80, "other" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].code == code)
			return rows[i].name;
	}
	return "a result without a name";
}

/* LDAPMessage { messageID, ExtendedResponse { resultCode, matchedDN,
 * diagnosticMessage, … }, … }: what comes later in either may be there or not. */
static int read_response(const char *msg, size_t n, unsigned *id, unsigned *code, struct span *text)
{
	struct span all = { (const uint8_t *)msg, n }, message, response, dn;

	if (take(&all, TAG_SEQUENCE, &message) != 0 || take_number(&message, TAG_INTEGER, id) != 0 ||
		take(&message, TAG_EXTENDED_RESPONSE, &response) != 0 ||
		take_number(&response, TAG_ENUMERATED, code) != 0 || take(&response, TAG_OCTETS, &dn) != 0)
		return -1;
	return take(&response, TAG_OCTETS, text);
}

static enum parley_status on_response(struct starttls *s, const char *msg, size_t n, struct err *e)
{
	unsigned id, code;
	struct span text;
	char answer[256];

	(void)s;
	if (read_response(msg, n, &id, &code, &text) != 0 || id > 1) {
		err_set(e, ERR_HANDSHAKE, "what the server says is not the answer to an extended request of ldap");
		return PARLEY_FAILED;
	}
	if (code == 0 && id == 1)
		return PARLEY_DONE;
	snprintf(answer, sizeof(answer), "%s (%u)%s%.*s", result_name(code), code, text.n > 0 ? ": " : "",
		text.n < sizeof(answer) ? (int)text.n : (int)sizeof(answer), (const char *)text.at);
	/* 0 is the number of what nobody asked for, the notice of disconnection */
	return starttls_refused(e, answer, strlen(answer), id == 0 ? "it hangs up" : NULL);
}

static enum parley_status start(struct starttls *s, struct err *e)
{
	/* message 1, ExtendedRequest, requestName */
	static const char request[] = "\x30\x1d\x02\x01\x01\x77\x18\x80\x16"
				      "1.3.6.1.4.1.1466.20037";

	return starttls_send(s, "StartTLS", on_response, e, request, sizeof(request) - 1);
}

const struct starttls_proto starttls_ldap = {
	.verb = "StartTLS",
	.port = 389,
	.start = start,
	.frame = frame,
};
