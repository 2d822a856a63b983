/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "lib/net/wake.h"

void wake_init(struct wake *w)
{
	w->read_fd = w->write_fd = -1;
}

int wake_open(struct wake *w)
{
#ifdef __linux__
	w->read_fd = w->write_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return w->read_fd < 0 ? -1 : 0;
#else
	int p[2];

	if (pipe(p) != 0)
		return -1;
	w->read_fd = p[0];
	w->write_fd = p[1];
	for (int i = 0; i < 2; i++) {
		fcntl(p[i], F_SETFL, O_NONBLOCK);
		fcntl(p[i], F_SETFD, FD_CLOEXEC);
	}
	return 0;
#endif
}

void wake_close(struct wake *w)
{
	if (w->read_fd >= 0)
		close(w->read_fd);
	if (w->write_fd >= 0 && w->write_fd != w->read_fd)
		close(w->write_fd);
	wake_init(w);
}

void wake_up(struct wake *w)
{
	uint64_t one = 1; /* an eventfd takes eight bytes */

	/* Full means that the other side has yet to look: as good as written. */
	while (write(w->write_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
}

void wake_clear(struct wake *w)
{
	uint64_t count[16];

	/* One read empties an eventfd. What a pipe has beyond that calls again. */
	while (read(w->read_fd, count, sizeof(count)) < 0 && errno == EINTR)
		continue;
}
