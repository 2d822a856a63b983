/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/sample_cmd.h"

#define AT(field) offsetof(struct sample, field)

static const struct opt first_rows[] = {
	{ .name = "ipv4", .letter = '4', .type = OPT_FLAG, .offset = AT(v4), .help = "Only IPv4." },
	{ .name = "ipv6", .letter = '6', .type = OPT_FLAG, .offset = AT(v6), .help = "Only IPv6." },
	{ .name = "cert-dir", .letter = 'd', .type = OPT_STRING, .arg = "DIR", .complete = OPT_COMPLETE_DIR,
	  .offset = AT(dir), .help = "Where it is kept\tacross\nrestarts. It must exist." },
	{ .name = "allow", .letter = 'a', .type = OPT_LIST, .arg = "RULE", .choices = "cn:|dns:",
	  .complete = OPT_COMPLETE_CHOICES, .offset = AT(allow), .help = "Let a peer in." },
	{ .name = "alpn", .type = OPT_COMMA, .arg = "LIST", .offset = AT(alpn), .def = "h2,http/1.1",
	  .help = "Protocols." },
	{ .name = "group", .type = OPT_COMMA, .arg = "LIST", .offset = AT(groups), .complete = OPT_COMPLETE_GROUPS,
	  .help = ".starts with a dot, has a \\ and 'quotes'" },
	{ .name = "threads", .letter = 't', .type = OPT_UINT, .arg = "N", .min = 1, .max = 64, .offset = AT(threads),
	  .def_text = "online CPUs", .help = "Threads." },
	{ .name = "max-conns", .type = OPT_UINT, .arg = "N", .offset = AT(conns), .def = "1000", .help = "Most." },
	{ .name = "idle-timeout", .type = OPT_DURATION, .arg = "TIME", .def = "1.5s", .offset = AT(idle),
	  .help = "End a connection on which nothing moved for this long, in both directions, no matter how "
		  "long it has been open and how much it has carried before that." },
	{ .name = "drain", .type = OPT_DURATION, .arg = "TIME", .min = 1000, .max = 60000, .offset = AT(drain),
	  .help = "Drain." },
	{ .name = NULL },
};

static const struct opt second_rows[] = {
	{ .name = "log", .type = OPT_ENUM, .choices = "text|json", .def = "text", .offset = AT(log), .help = "Form." },
	{ .name = "balance", .type = OPT_ENUM, .arg = "HOW", .choices = "first|roundrobin", .def = "roundrobin",
	  .offset = AT(balance), .help = "Which target." },
	{ .name = NULL },
};

static const struct opt shared_rows[] = {
	{ .name = "servername", .type = OPT_STRING, .arg = "A-VERY-LONG-METAVARIABLE-FOR-A-NAME",
	  .offset = offsetof(struct sample_shared, servername), .help = "Name to ask for." },
	{ .name = "cert", .letter = 'c', .type = OPT_LIST, .arg = "FILE", .complete = OPT_COMPLETE_FILE,
	  .offset = offsetof(struct sample_shared, cert), .help = "Certificate." },
	{ .name = NULL },
};

static const struct opt_group groups[] = {
	{ "Test", first_rows, 0 },
	{ "Output", second_rows, 0 },
	{ "TLS", shared_rows, AT(tls) },
	{ NULL, NULL, 0 },
};

static const struct opt_operand operands_help[] = {
	{ "LISTEN", "Where it listens." },
	{ "TARGET", "Where it connects to." },
	{ NULL, NULL },
};

static const struct opt_example examples[] = {
	{ "tlskit test 1 2 --cert /etc/ssl/a-rather-long-name.pem --servername \"a b\" -4 --drain 10s --log json",
	  "All at once:" },
	{ "tlskit test 1 2", "Little:" },
	{ NULL, NULL },
};

static const struct opt_foreign foreign[] = {
	{ "connect", "an operand" }, /* which is no --cert file "onnect" */
	{ "ipv4only", "--ipv4" },
	{ "p", "an operand" },
	{ NULL, NULL },
};

const struct opt_spec sample_spec = {
	.synopsis = "[OPTION…] LISTEN TARGET [TARGET…]",
	.description = "First paragraph, which is long enough to be wrapped at any width that help knows, even at "
		       "a hundred columns.\n\nSecond\nparagraph.",
	.groups = groups,
	.operands = operands_help,
	.examples = examples,
	.size = sizeof(struct sample),
	.operands_min = 2,
	.operands_max = 3,
	.foreign = foreign,
};

const struct cmd sample_cmd = { "test", "A command for tests", &sample_spec, NULL };
