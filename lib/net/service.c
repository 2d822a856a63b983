/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/units.h"
#include "lib/net/service.h"

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */
#define FDS_MAX 4096

/* How many descriptors are meant for this very process. */
static int inherited(void)
{
	const char *pid = getenv("LISTEN_PID");
	const char *fds = getenv("LISTEN_FDS");
	uint64_t n;

	if (pid == NULL || fds == NULL)
		return 0;
	if (units_parse_uint(pid, 1, INT32_MAX, &n) != 0 || n != (uint64_t)getpid())
		return 0;
	if (units_parse_uint(fds, 0, FDS_MAX, &n) != 0)
		return 0;
	return (int)n;
}

/* Compares the first of the names in "a:b:c" and moves *names to the next. A
 * descriptor without one is called "unknown", as sd_listen_fds_with_names(3)
 * has it. */
static int name_matches(const char *name, const char **names)
{
	const char *own = *names != NULL && **names != '\0' ? *names : "unknown";
	size_t len = strcspn(own, ":");
	int same = strlen(name) == len && memcmp(name, own, len) == 0;

	if (*names != NULL) {
		*names += strcspn(*names, ":");
		if (**names == ':')
			(*names)++;
	}
	return same;
}

int service_listen_fds(const char *name, int *fds, int max)
{
	const char *names = getenv("LISTEN_FDNAMES");
	int total = inherited(), n = 0;

	for (int fd = FIRST_FD; fd < FIRST_FD + total; fd++) {
		int same = name_matches(name, &names);

		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			continue; /* it is not there */
		if ((same || *name == '\0') && n < max)
			fds[n++] = fd;
	}
	return n;
}

void service_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t len = path != NULL ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(un.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(un.sun_path, path, len);
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Nothing can be done about a manager that does not listen. It cannot
	 * block for long either: the manager's queue is deep. */
	(void)!sendto(fd, state, strlen(state), MSG_DONTWAIT, (const struct sockaddr *)&un,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}
