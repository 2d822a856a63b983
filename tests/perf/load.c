/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "load.h"

static const struct load_role *const roles[] = {
	&load_sink, &load_source, &load_echo_server, &load_echo_client, &load_storm, &load_hold, &load_awake,
};

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("load: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *must_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("out of memory");
	return p;
}

static void usage(FILE *out)
{
	fputs("Usage: load ROLE --listen PORT | --connect PORT [OPTION...]\n\nRoles:\n", out);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		fprintf(out, "  %-14s %s\n", roles[i]->name, roles[i]->help);
	fputs("\nOptions:\n"
	      "  --conns N       connections at a time (1)\n"
	      "  --window N      echo-client: messages under way a connection (1)\n"
	      "  --size BYTES    echo-client: of a message, 8 and up (1024)\n"
	      "  --sources N     connect from 127.0.1.1 to 127.0.1.N in turn\n"
	      "  --tls           connect-storm, hold: TLS 1.3, verified\n"
	      "  --ca FILE       what to trust\n"
	      "  --name NAME     what the certificate must be for (localhost)\n"
	      "  --priority P    GnuTLS's priority string\n"
	      "  --resume        connect-storm: with the last session's ticket\n"
	      "  --bare          connect-storm: no byte, the end right after the handshake\n"
	      "  --seconds S     answer once after S seconds and end\n"
	      "\nWithout --seconds each line `mark` on standard input is answered by what\n"
	      "happened since the last one; the end of standard input ends the process.\n", out);
}

static long number(const char *option, const char *text, long min, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || n < min || n > max)
		die("--%s takes a number from %ld to %ld, not \"%s\"", option, min, max, text);
	return n;
}

static const struct load_role *find_role(const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(roles[i]->name, name) == 0)
			return roles[i];
	return NULL;
}

static void parse(struct load_opts *o, const struct load_role *role, int argc, char **argv)
{
	static const struct option table[] = {
		{"listen", 1, NULL, 'l'}, {"connect", 1, NULL, 'c'}, {"conns", 1, NULL, 'n'},
		{"window", 1, NULL, 'w'}, {"size", 1, NULL, 's'}, {"sources", 1, NULL, 'a'},
		{"tls", 0, NULL, 't'}, {"ca", 1, NULL, 'C'}, {"name", 1, NULL, 'N'},
		{"priority", 1, NULL, 'p'}, {"resume", 0, NULL, 'r'}, {"seconds", 1, NULL, 'S'},
		{"bare", 0, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	int c, at;

	while ((c = getopt_long(argc, argv, "", table, &at)) != -1) {
		switch (c) {
		case 'l': o->listen_port = (int)number("listen", optarg, 0, 65535); break;
		case 'c': o->connect_port = (int)number("connect", optarg, 1, 65535); break;
		case 'n': o->conns = (int)number("conns", optarg, 1, 1000000); break;
		case 'w': o->window = (int)number("window", optarg, 1, 65536); break;
		case 's': o->size_bytes = (size_t)number("size", optarg, 8, 1 << 24); break;
		case 'a': o->sources = (int)number("sources", optarg, 0, 254); break;
		case 't': o->tls = true; break;
		case 'C': o->ca = optarg; break;
		case 'N': o->name = optarg; break;
		case 'p': o->priority = optarg; break;
		case 'r': o->resume = true; break;
		case 'b': o->bare = true; break;
		case 'S': o->seconds = strtod(optarg, NULL); break;
		default: exit(2);
		}
	}
	if (optind < argc)
		die("what is \"%s\"?", argv[optind]);
	if (!role->no_port && (o->listen_port < 0) == (o->connect_port < 0))
		die("either --listen or --connect");
}

/* As many descriptors as the system lets a process have. */
static void raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int main(int argc, char **argv)
{
	struct load_opts o = {
		.listen_port = -1, .connect_port = -1, .conns = 1, .window = 1, .size_bytes = 1024, .name = "localhost",
		.priority = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:-CIPHER-ALL:+AES-128-GCM",
	};
	const struct load_role *role;

	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	role = find_role(argv[1]);
	if (!role) {
		usage(stderr);
		return 2;
	}
	parse(&o, role, argc - 1, argv + 1);
	signal(SIGPIPE, SIG_IGN);
	raise_limit();
	loop_run(role, &o);
	return 0;
}
