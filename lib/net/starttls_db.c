/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "lib/net/starttls_int.h"

/* postgres, mysql. */

/* --- postgres: SSLRequest -------------------------------------------------------- */

#define POSTGRES_ERROR_MAX 8192 /* of a server that hangs up on us */

static ptrdiff_t postgres_frame(struct starttls *s, const uint8_t *at, size_t n, struct err *e)
{
	const uint8_t *end;
	uint32_t len;

	if (at[0] == 'S' || at[0] == 'N')
		return 1;
	if (at[0] != 'E') {
		starttls_strange_byte(s, e, at[0]);
		return -1;
	}
	if (n < 2)
		return 0;
	if (at[1] != 0) { /* before version 7.4: text with a NUL behind it */
		end = memchr(at, '\0', n < POSTGRES_ERROR_MAX ? n : POSTGRES_ERROR_MAX);
		if (end != NULL)
			return end - at + 1;
		len = n < POSTGRES_ERROR_MAX ? 0 : UINT32_MAX;
	} else {
		if (n < 5)
			return 0;
		len = ((uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4]) + 1;
	}
	if (len > POSTGRES_ERROR_MAX) {
		err_set(e, ERR_HANDSHAKE, "the server answered with an error of endless length");
		return -1;
	}
	return len <= n ? (ptrdiff_t)len : 0;
}

/* The field M among those of an ErrorResponse, each a letter and a string. */
static const char *postgres_text(const char *msg, size_t n, size_t *len)
{
	size_t at = 5;

	if (msg[1] != '\0') {
		*len = n - 2;
		return msg + 1;
	}
	while (at + 1 < n && msg[at] != '\0') {
		*len = strnlen(msg + at + 1, n - at - 1);
		if (msg[at] == 'M')
			return msg + at + 1;
		at += *len + 2;
	}
	*len = 0;
	return msg;
}

static enum parley_status postgres_answer(struct starttls *s, const char *msg, size_t n, struct err *e)
{
	const char *text;
	size_t len;

	(void)s;
	if (msg[0] == 'S')
		return PARLEY_DONE;
	if (msg[0] == 'N') {
		err_set(e, ERR_HANDSHAKE, "the server answered N: it does not do TLS on this address");
		return PARLEY_FAILED;
	}
	text = postgres_text(msg, n, &len);
	return starttls_refused(e, len > 0 ? text : "E", len > 0 ? len : 1, NULL);
}

static enum parley_status postgres_start(struct starttls *s, struct err *e)
{
	static const uint8_t request[] = { 0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f }; /* 80877103 */

	return starttls_send(s, "SSLRequest", postgres_answer, e, request, sizeof(request));
}

const struct starttls_proto starttls_postgres = {
	.verb = "TLS",
	.port = 5432,
	.start = postgres_start,
	.frame = postgres_frame,
};

/* --- mysql: the server's handshake packet, our SSLRequest ------------------------ */

#define MYSQL_HEADER	 4 /* the length in 3 bytes, the lowest first, and the packet's number */
#define MYSQL_PACKET_MAX 16384

enum {
	MYSQL_LONG_PASSWORD = 0x1,
	MYSQL_LONG_FLAG = 0x4,
	MYSQL_PROTOCOL_41 = 0x200,
	MYSQL_SSL = 0x800,
	MYSQL_TRANSACTIONS = 0x2000,
	MYSQL_SECURE_CONNECTION = 0x8000,
	MYSQL_PLUGIN_AUTH = 0x80000,
};

#define MYSQL_UTF8MB4 45 /* utf8mb4_general_ci; servers that lack it take their default */

static ptrdiff_t mysql_frame(struct starttls *s, const uint8_t *at, size_t n, struct err *e)
{
	size_t len;

	if (n < MYSQL_HEADER)
		return 0;
	len = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
	if (starttls_is_tls(at[0]) && at[1] == 3 && at[2] <= 4) {
		starttls_strange_byte(s, e, at[0]);
		return -1;
	}
	if (len == 0 || len > MYSQL_PACKET_MAX || at[3] > 1) {
		starttls_strange(s, e, (const char *)at, MYSQL_HEADER);
		return -1;
	}
	return len + MYSQL_HEADER <= n ? (ptrdiff_t)(len + MYSQL_HEADER) : 0;
}

/* 0xff, the error's number in two bytes, perhaps # and five letters, the text. */
static enum parley_status mysql_refused(const char *msg, size_t n, struct err *e)
{
	size_t at = n >= 9 && msg[3] == '#' ? 9 : 3;

	if (n <= at)
		return starttls_refused(e, "with an error", strlen("with an error"), NULL);
	return starttls_refused(e, msg + at, n - at, NULL);
}

static enum parley_status mysql_request(struct starttls *s, unsigned server_flags, struct err *e)
{
	uint32_t flags = MYSQL_LONG_PASSWORD | MYSQL_LONG_FLAG | MYSQL_PROTOCOL_41 | MYSQL_SSL | MYSQL_TRANSACTIONS |
			 MYSQL_SECURE_CONNECTION | MYSQL_PLUGIN_AUTH;
	uint8_t packet[MYSQL_HEADER + 32] = { 32, 0, 0, 1 };

	if ((server_flags & MYSQL_SSL) == 0 || (server_flags & MYSQL_PROTOCOL_41) == 0) {
		starttls_wait(s, NULL, NULL);
		err_set(e, ERR_HANDSHAKE, "TLS is not offered (%s)", s->caps);
		return PARLEY_FAILED;
	}
	for (int i = 0; i < 4; i++)
		packet[MYSQL_HEADER + i] = (uint8_t)(flags >> 8 * i);
	packet[MYSQL_HEADER + 7] = 1; /* packets of up to 16 MiB */
	packet[MYSQL_HEADER + 8] = MYSQL_UTF8MB4;
	if (starttls_send(s, "SSLRequest", NULL, e, packet, sizeof(packet)) == PARLEY_FAILED)
		return PARLEY_FAILED;
	return PARLEY_DONE;
}

/* The protocol's number, the server's version as a string, 4 bytes of thread, 8 of
 * salt, 1 of nothing, then the lower half of the capability flags. */
static enum parley_status mysql_greeting(struct starttls *s, const char *msg, size_t n, struct err *e)
{
	const uint8_t *at = (const uint8_t *)msg + MYSQL_HEADER, *end;
	size_t left = n - MYSQL_HEADER;

	if (at[0] == 0xff)
		return mysql_refused(msg + MYSQL_HEADER, left, e);
	if (at[0] != 10) {
		err_set(e, ERR_HANDSHAKE, "the server speaks version %d of the protocol, and only version 10 has TLS",
			at[0]);
		return PARLEY_FAILED;
	}
	end = memchr(at + 1, '\0', left - 1);
	if (end == NULL || left - (size_t)(end - at) < 1 + 4 + 8 + 1 + 2) {
		err_set(e, ERR_HANDSHAKE, "what the server says is not mysql: a handshake packet of %zu bytes", left);
		return PARLEY_FAILED;
	}
	starttls_list(s, "server", strlen("server"));
	starttls_list(s, (const char *)at + 1, (size_t)(end - at) - 1);
	return mysql_request(s, end[14] | (unsigned)end[15] << 8, e);
}

static enum parley_status mysql_start(struct starttls *s, struct err *e)
{
	(void)e;
	return starttls_wait(s, "greeting", mysql_greeting);
}

const struct starttls_proto starttls_mysql = {
	.verb = "TLS",
	.port = 3306,
	.start = mysql_start,
	.frame = mysql_frame,
};
