/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "lib/tls/keylog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/tls/tls_int.h"

#define KEYLOG_LINE_MAX 512

static size_t hex(char *out, const gnutls_datum_t *d)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < d->size; i++) {
		out[2 * i] = digits[d->data[i] >> 4];
		out[2 * i + 1] = digits[d->data[i] & 15];
	}
	return 2 * (size_t)d->size;
}

/* O_APPEND: whole lines from any thread. A full disk must not end sessions, but whoever
 * waits for the secrets is told, once. */
static void append(struct tls_config *c, const char *line, size_t n)
{
	ssize_t r;

	errno = 0;
	do {
		r = write(c->keylog_fd, line, n);
	} while (r < 0 && errno == EINTR);
	if (r != (ssize_t)n && !atomic_exchange(&c->keylog_lost, true))
		log_msg(LOG_WARN, "--keylog: secrets are lost: %s", strerror(r < 0 ? errno : ENOSPC));
}

/* "LABEL CLIENT_RANDOM SECRET", the NSS key log format (RFC 9850). */
int keylog_write(gnutls_session_t gs, const char *label, const gnutls_datum_t *secret)
{
	struct session *s = gnutls_session_get_ptr(gs);
	char line[KEYLOG_LINE_MAX];
	gnutls_datum_t client, server;
	size_t n = strlen(label);

	gnutls_session_get_random(gs, &client, &server);
	if (n + 2 * (size_t)client.size + 2 * (size_t)secret->size + 3 > sizeof(line))
		return 0;
	memcpy(line, label, n);
	line[n++] = ' ';
	n += hex(line + n, &client);
	line[n++] = ' ';
	n += hex(line + n, secret);
	line[n++] = '\n';
	append(s->config, line, n);
	gnutls_memset(line, 0, sizeof(line));
	return 0;
}

/* $SSLKEYLOGFILE, taken out of the environment: GnuTLS would write there too,
 * and with the mode that the umask leaves. */
static char *environment_keylog;

static void take_environment(void)
{
	const char *path = secure_getenv("SSLKEYLOGFILE");

	if (!path)
		return;
	environment_keylog = strdup(path);
	unsetenv("SSLKEYLOGFILE");
}

/* Mode 0600, as it may have been there with another. A device's is not ours to change. */
static int close_to_others(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	return S_ISREG(st.st_mode) ? fchmod(fd, 0600) : 0;
}

int keylog_open(const char *path, int *fd, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	*fd = -1;
	pthread_once(&once, take_environment);
	if (!path)
		path = environment_keylog;
	if (!path)
		return 0;
	*fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (*fd < 0)
		return err_sys(e, ERR_CONFIG, errno, "--keylog %s: cannot open", path);
	if (close_to_others(*fd) < 0)
		return err_sys(e, ERR_CONFIG, errno, "--keylog %s: cannot set mode 0600", path);
	return 0;
}
