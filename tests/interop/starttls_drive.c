/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/starttls.h"

/* Has a server at 127.0.0.1 go over to TLS, and shakes hands with it:
 *   starttls_drive PROTOCOL PORT BYTES [NAME]
 * reads at most so many BYTES at once. Prints the version of TLS; exit 14 when the
 * conversation failed, with the reason on stderr, and 15 when the handshake did. */

#define DEADLINE 20 /* seconds */

static int dial(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		perror("connect");
		exit(1);
	}
	return fd;
}

static void send_out(int fd, struct parley *p)
{
	size_t n;
	const uint8_t *out = parley_out(p, &n);

	while (n > 0) {
		ssize_t sent = send(fd, out, n, MSG_NOSIGNAL);

		if (sent <= 0) {
			perror("send");
			exit(1);
		}
		parley_sent(p, (size_t)sent);
		out = parley_out(p, &n);
	}
}

static enum parley_status talk(int fd, struct parley *p, size_t piece, struct err *e)
{
	uint8_t buf[4096];
	size_t used;
	enum parley_status status = parley_feed(p, NULL, 0, &used, e);

	for (;;) {
		ssize_t n;

		send_out(fd, p);
		if (status != PARLEY_MORE)
			return status;
		n = recv(fd, buf, piece, 0);
		status = n > 0 ? parley_feed(p, buf, (size_t)n, &used, e) : parley_end(p, e);
	}
}

static int shake_hands(int fd)
{
	gnutls_certificate_credentials_t cred = NULL;
	gnutls_session_t s = NULL;
	int r;

	if (gnutls_certificate_allocate_credentials(&cred) < 0 || gnutls_init(&s, GNUTLS_CLIENT) < 0)
		return 1;
	gnutls_set_default_priority(s);
	gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, cred); /* nothing is verified */
	gnutls_transport_set_int(s, fd);
	do {
		r = gnutls_handshake(s);
	} while (r < 0 && !gnutls_error_is_fatal(r));
	if (r < 0)
		fprintf(stderr, "handshake: %s\n", gnutls_strerror(r));
	else
		puts(gnutls_protocol_get_name(gnutls_protocol_get_version(s)));
	gnutls_deinit(s);
	gnutls_certificate_free_credentials(cred);
	return r < 0 ? 15 : 0;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	struct parley *p;
	size_t piece;
	int fd, code = 14;

	if (argc < 4)
		return 2;
	piece = (size_t)atoi(argv[3]);
	p = starttls_new(argv[1], "localhost", argv[4], &e);
	if (p == NULL || piece < 1 || piece > 4096) {
		fprintf(stderr, "%s\n", e.msg);
		return 2;
	}
	alarm(DEADLINE);
	fd = dial(argv[2]);
	if (talk(fd, p, piece, &e) == PARLEY_DONE)
		code = shake_hands(fd);
	else
		fprintf(stderr, "%s\n", e.msg);
	parley_free(p);
	close(fd);
	return code;
}
