/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_LISTEN_H
#define TLSKIT_NET_LISTEN_H

#include <sys/types.h>

#include "lib/base/err.h"
#include "lib/net/addr.h"

/* Listening sockets of one address: one or more descriptors (both loopback
 * families; each address of a name). Port 0 takes a free port, the same one
 * for all of them. ":PORT" is one dual-stack socket, or IPv4 where the machine
 * has no IPv6. A loopback family that the machine lacks is left out.
 *
 * unix:PATH: a socket file that nobody listens on any more is replaced; one in
 * use is an error; the file is removed at listen_close. Another kind of file
 * is never touched. systemd:NAME takes every inherited descriptor of that name
 * (sd_listen_fds(3)). */

#define LISTEN_MAX 8

struct listener {
	int n;
	int fd[LISTEN_MAX];
	char unlink_path[108]; /* "" for none */
	dev_t unlink_dev; /* it is removed while it is still this file */
	ino_t unlink_ino;
};

/* 0, or -1 with ERR_CONFIG that names address and reason ("in use", "needs
 * root: ports below 1024", …); then nothing stays open. Sockets are
 * non-blocking, close-on-exec, SO_REUSEADDR. An a that is ADDR_STDIO is an
 * error. */
int listen_open(struct listener *out, const struct addr *a, int backlog, struct err *e);

/* The address that descriptor i is bound to, as addr_format_sockaddr. */
char *listen_name(const struct listener *l, int i, char out[ADDR_TEXT_SIZE]);

void listen_close(struct listener *l); /* twice is fine */

#endif
