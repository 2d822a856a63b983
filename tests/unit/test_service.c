/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/net/listen.h"
#include "lib/net/service.h"
#include "tests/unit/net_util.h"

TestSuite(service, .timeout = TEST_TIMEOUT);

/* --- inherited sockets ------------------------------------------------------------- */

/* In a child, which has descriptors 3 and up to itself: n of them, named. */
static int in_child(int (*fn)(void), int n, const char *names, bool listening)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		char text[16];
		struct sockaddr_in in;

		for (int fd = 3; fd < 100; fd++)
			close(fd);
		for (int i = 0; i < n; i++) {
			if (listening)
				listen_v4(&in, 4);
			else
				(void)!socket(AF_INET, SOCK_STREAM, 0);
		}
		snprintf(text, sizeof(text), "%d", getpid());
		setenv("LISTEN_PID", text, 1);
		snprintf(text, sizeof(text), "%d", n);
		setenv("LISTEN_FDS", text, 1);
		if (names != NULL)
			setenv("LISTEN_FDNAMES", names, 1);
		_exit(fn());
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static bool is_tuned(int fd)
{
	int nodelay = 0;
	socklen_t len = sizeof(nodelay);

	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len);
	return nodelay && fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static int opens(const char *text, int n, const char *says)
{
	struct listener l;
	struct addr a;
	struct err e = { 0 };

	if (addr_parse(&a, text, ADDR_LISTEN, &e) != 0)
		return 1;
	if (listen_open(&l, &a, 4, &e) != 0)
		return says == NULL || strstr(e.msg, says) == NULL;
	return says != NULL || l.n != n || !is_tuned(l.fd[0]);
}

static int web_is_two(void)
{
	return opens("systemd:web", 2, NULL) || opens("systemd:db", 1, NULL)
		|| opens("systemd:none", 0, "no socket of that name");
}

static int unnamed_is_unknown(void)
{
	return opens("systemd:unknown", 1, NULL) || opens("systemd:web", 0, "no socket of that name");
}

static int not_listening(void)
{
	return opens("systemd:web", 0, "no listening stream socket");
}

static int too_many(void)
{
	return opens("systemd:a", 0, "more than");
}

static int somebody_elses(void)
{
	setenv("LISTEN_PID", "1", 1);
	return opens("systemd:web", 0, "no socket of that name");
}

Test(service, sockets_by_name)
{
	cr_assert_eq(in_child(web_is_two, 3, "web:db:web", true), 0);
	cr_assert_eq(in_child(unnamed_is_unknown, 1, NULL, true), 0);
	cr_assert_eq(in_child(not_listening, 1, "web", false), 0);
	cr_assert_eq(in_child(too_many, 9, "a:a:a:a:a:a:a:a:a", true), 0);
	cr_assert_eq(in_child(somebody_elses, 1, "web", true), 0);
}

Test(service, sockets_are_for_one_process)
{
	static const char *const pids[] = { "", "1", "-1", "x", "99999999999999999999" };
	char own[16];
	int fds[4];

	snprintf(own, sizeof(own), "%d", getpid());
	setenv("LISTEN_FDS", "1", 1);
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		setenv("LISTEN_PID", pids[i], 1);
		cr_assert_eq(service_listen_fds("", fds, 4), 0, "%s", pids[i]);
	}
	setenv("LISTEN_PID", own, 1);
	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		if (i == 1)
			continue;
		setenv("LISTEN_FDS", pids[i], 1);
		cr_assert_eq(service_listen_fds("", fds, 4), 0, "%s", pids[i]);
	}
	setenv("LISTEN_FDS", "0", 1);
	cr_assert_eq(service_listen_fds("", fds, 4), 0);
}

/* --- notification ------------------------------------------------------------------- */

static void hears(const char *name, const char *where)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	size_t len = strlen(name);
	char got[32] = "";

	memcpy(un.sun_path, name, len);
	if (name[0] == '@')
		un.sun_path[0] = '\0';
	cr_assert_eq(bind(fd, (struct sockaddr *)&un, (socklen_t)(sizeof(un) - sizeof(un.sun_path) + len)), 0);
	setenv("NOTIFY_SOCKET", where, 1);
	service_notify("READY=1");
	cr_assert_eq(recv(fd, got, sizeof(got) - 1, 0), 7, "%s", where);
	cr_assert_str_eq(got, "READY=1");
	close(fd);
}

Test(service, notify)
{
	char dir[] = "/tmp/tlskit-net-XXXXXX", path[64], name[64];

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/n", dir);
	snprintf(name, sizeof(name), "@%s", dir);
	hears(path, path);
	hears(name, name);
	unlink(path);
	rmdir(dir);
	/* none, nobody there, nonsense: nothing happens */
	unsetenv("NOTIFY_SOCKET");
	service_notify("READY=1");
	for (int i = 0; i < 4; i++) {
		setenv("NOTIFY_SOCKET", (const char *[]){ path, "", "@", "relative" }[i], 1);
		service_notify("READY=1");
	}
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	setenv("NOTIFY_SOCKET", path, 1);
	service_notify("READY=1");
}
