/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "tests/unit/log_lines.h"

/* --- a JSON reader that takes no nonsense (RFC 8259) ----------------------- */

static const char *json_string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	while (*p != '"') {
		uint32_t cp;
		size_t n = utf8_decode(p, strlen(p) + 1, &cp);

		if (n == 0 || utf8_is_control(cp))
			return NULL;
		if (cp == '\\') {
			p++;
			if (*p == 'u' && strspn(p + 1, "0123456789abcdef") >= 4)
				n = 5;
			else if (*p != '\0' && strchr("\"\\/bfnrt", *p) != NULL)
				n = 1;
			else
				return NULL;
		}
		p += n;
	}
	return p + 1;
}

static const char *json_value(const char *p)
{
	static const char *const words[] = { "null", "true", "false" };
	size_t n;

	if (*p == '"')
		return json_string(p);
	for (size_t i = 0; i < 3; i++) {
		n = strlen(words[i]);
		if (strncmp(p, words[i], n) == 0)
			return p + n;
	}
	n = strspn(p, "0123456789");
	if (n == 0 || (n > 1 && *p == '0'))
		return NULL;
	p += n;
	if (*p == '.') {
		n = strspn(p + 1, "0123456789");
		return n == 0 ? NULL : p + 1 + n;
	}
	return p;
}

/* Whether text is one flat object. */
static bool is_json(const char *text)
{
	const char *p = text;

	do {
		if (p != text ? *p != ',' : *p != '{')
			return false;
		p = json_string(p + 1);
		if (p == NULL || *p != ':')
			return false;
		p = json_value(p + 1);
		if (p == NULL)
			return false;
	} while (*p == ',');
	return strcmp(p, "}") == 0;
}

Test(log, the_reader_of_these_tests_is_strict)
{
	static const char *const good[] = { "{\"a\":1}", "{\"a\":\"\\u001b\",\"b\":null,\"c\":0.5}" };
	static const char *const bad[] = { "",	       "{}",	     "{\"a\":1",      "{\"a\":1}}",	  "{\"a\":01}",
					   "{\"a\":1,}", "{\"a\":\"\x1b\"}", "{\"a\":\"\\x1b\"}", "{\"a\":\"\xff\"}",
					   "{\"a\":\"b}", "{\"a\":1.}",  "{\"a\":nul}",	  "{a:1}" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(is_json(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(is_json(bad[i]), "%s", bad[i]);
}

/* --- what a line looks like ------------------------------------------------ */

static const struct log_field all_types[] = {
	{ .type = LOG_STR, .key = "peer", .s = "127.0.0.1:4711" },
	{ .type = LOG_STR, .key = "sni", .s = NULL },
	{ .type = LOG_UINT, .key = "to_target_bytes", .u = UINT64_MAX },
	{ .type = LOG_BOOL, .key = "resumed", .u = 1 },
	{ .type = LOG_BOOL, .key = "early", .u = 0 },
	{ .type = LOG_MS, .key = "duration_ms", .u = 12345678 },
	{ .type = LOG_STR, .key = "reason", .s = "end of data" },
	{ .type = LOG_END },
};

Test(log, text)
{
	start(LOG_TEXT, LOG_DEBUG);
	log_event(LOG_INFO, "close", all_types);
	cr_assert_str_eq(event_line(), "info  close peer=127.0.0.1:4711 to_target_bytes=18446744073709551615 "
				       "resumed=yes early=no duration_ms=12.346 reason=\"end of data\"");
	log_event(LOG_ERROR, "e", NULL);
	cr_assert_str_eq(event_line(), "error e");
	log_event(LOG_WARN, "w", NULL);
	cr_assert_str_eq(event_line(), "warn  w");
	log_event(LOG_DEBUG, "d", NULL);
	cr_assert_str_eq(event_line(), "debug d");
	cr_assert_null(line());
}

Test(log, json)
{
	static const char want[] = ",\"level\":\"info\",\"event\":\"close\",\"peer\":\"127.0.0.1:4711\",\"sni\":null,"
				   "\"to_target_bytes\":18446744073709551615,\"resumed\":true,\"early\":false,"
				   "\"duration_ms\":12.346,\"reason\":\"end of data\"}";
	static const char head[] = "{\"schema\":\"tlskit/log/1\",\"time\":\"";
	long long before = clock_real_ms(), after, ms;
	char time[CLOCK_RFC3339_SIZE];
	const char *text;

	start(LOG_JSON, LOG_DEBUG);
	log_event(LOG_INFO, "close", all_types);
	after = clock_real_ms();
	text = line();
	cr_assert_not_null(text);
	cr_assert(is_json(text), "%s", text);
	cr_assert_eq(strncmp(text, head, strlen(head)), 0, "%s", text);
	text += strlen(head);
	cr_assert_eq(sscanf(text + 24, "\",\"time_epoch_ms\":%lld", &ms), 1, "%s", text);
	cr_assert(ms >= before && ms <= after);
	cr_assert_eq(strncmp(text, clock_rfc3339(ms, time), 24), 0, "both times are the same moment");
	cr_assert_str_eq(strstr(text, ",\"level\""), want);
}

Test(log, milliseconds)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0.000" },	    { 499, "0.000" },		{ 500, "0.001" },
		{ 999499, "0.999" }, { 999500, "1.000" },	{ UINT64_MAX, "18446744073709.552" },
	};

	start(LOG_TEXT, LOG_INFO);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct log_field fields[] = { { .type = LOG_MS, .key = "t", .u = rows[i].ns }, { .type = LOG_END } };

		log_event(LOG_INFO, "e", fields);
		cr_expect_str_eq(event_line() + strlen("info  e t="), rows[i].text);
	}
}

Test(log, levels)
{
	for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
		start(LOG_TEXT, (enum log_level)level);
		for (int of = LOG_ERROR; of <= LOG_DEBUG; of++) {
			cr_expect_eq(log_on((enum log_level)of), of <= level);
			log_event((enum log_level)of, "e", NULL);
			cr_expect_eq(line() != NULL, of <= level);
			log_msg((enum log_level)of, "m");
			cr_expect_eq(line() != NULL, of <= level);
		}
		close(log_end);
		close(read_end);
	}
}

Test(log, messages)
{
	start(LOG_TEXT, LOG_INFO);
	log_msg(LOG_INFO, "cannot read \"%s\": no", "C:\\x");
	cr_assert_str_eq(line(), "tlskit: cannot read \"C:\\x\": no");
	log_msg(LOG_INFO, "with its newline\n");
	cr_assert_str_eq(line(), "tlskit: with its newline");
	log_msg(LOG_INFO, "two\nlines\x1b[0m");
	cr_assert_str_eq(line(), "tlskit: two\\nlines\\x1b[0m");
	log_msg(LOG_INFO, "%s", "");
	cr_assert_str_eq(line(), "tlskit: ");
	log_setup(LOG_JSON, LOG_INFO, log_end);
	log_msg(LOG_WARN, "cannot read \"%s\": no", "C:\\x");
	cr_assert_str_eq(strstr(line(), ",\"level\""),
			 ",\"level\":\"warn\",\"event\":\"message\",\"message\":\"cannot read \\\"C:\\\\x\\\": no\"}");
}

/* --- hostile bytes --------------------------------------------------------- */

static const struct {
	const char *in, *text, *json;
} hostile[] = {
	{ "plain", "plain", "plain" },
	{ "", "\"\"", "" },
	{ "a b", "\"a b\"", "a b" },
	{ "a=b", "\"a=b\"", "a=b" },
	{ "CN=x\" level=error", "\"CN=x\\\" level=error\"", "CN=x\\\" level=error" },
	{ "back\\slash", "\"back\\\\slash\"", "back\\\\slash" },
	{ "a\nb\rc\td", "\"a\\nb\\rc\\td\"", "a\\nb\\rc\\td" },
	{ "\x1b[2J\x07\x7f", "\"\\x1b[2J\\x07\\x7f\"", "\\u001b[2J\\u0007\\u007f" },
	{ "\xc2\x85\xc2\x9b", "\"\\u0085\\u009b\"", "\\u0085\\u009b" },
	{ "\xe2\x80\xaegpj\xe2\x81\xa9", "\"\\u202egpj\\u2069\"", "\\u202egpj\\u2069" },
	{ "\xff", "\"\\xff\"", "\xef\xbf\xbd" },
	{ "\xc0\xae\xed\xa0\x80", "\"\\xc0\\xae\\xed\\xa0\\x80\"",
	  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xe2\x80", "\"\\xe2\\x80\"", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "M\xc3\xbcller", "M\xc3\xbcller", "M\xc3\xbcller" },
	{ "\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92", "\xf0\x9f\x94\x92" },
	{ "'`$(){}[];,", "'`$(){}[];,", "'`$(){}[];," },
};

Test(log, hostile_values)
{
	start(LOG_TEXT, LOG_INFO);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		const struct log_field fields[] = { { .type = LOG_STR, .key = "v", .s = hostile[i].in },
						    { .type = LOG_UINT, .key = "n", .u = 7 },
						    { .type = LOG_END } };
		char want[256];

		log_setup(LOG_TEXT, LOG_INFO, log_end);
		log_event(LOG_INFO, "e", fields);
		snprintf(want, sizeof(want), "info  e v=%s n=7", hostile[i].text);
		cr_expect_str_eq(event_line(), want, "row %zu", i);
		log_setup(LOG_JSON, LOG_INFO, log_end);
		log_event(LOG_INFO, "e", fields);
		snprintf(want, sizeof(want), ",\"v\":\"%s\",\"n\":7}", hostile[i].json);
		cr_expect_str_eq(strstr(line(), ",\"v\""), want, "row %zu", i);
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Bytes that hit the edges more often than chance would. */
static void random_bytes(char *out, size_t n, uint32_t *seed)
{
	static const char edges[] = "\"\\=\n\x1b\x7f\x80\xc2\x85\xe2\x80\xae\xff \xf0\x9f\x94\x92";

	for (size_t i = 0; i < n; i++) {
		char c = next(seed) % 2 != 0 ? edges[next(seed) % (sizeof(edges) - 1)] : (char)next(seed);

		out[i] = c != '\0' ? c : 'x';
	}
	out[n] = '\0';
}

static bool is_printable(const char *s)
{
	size_t left = strlen(s);

	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_decode(s, left, &cp);

		if (n == 0 || utf8_is_control(cp))
			return false;
		s += n;
		left -= n;
	}
	return true;
}

Test(log, random_values_never_break_a_line)
{
	static char a[3001], b[3001];
	const struct log_field fields[] = { { .type = LOG_STR, .key = "a", .s = a },
					    { .type = LOG_STR, .key = "b", .s = b },
					    { .type = LOG_END } };
	uint32_t seed = 7;

	start(LOG_TEXT, LOG_INFO);
	for (int i = 0; i < 3000; i++) {
		const char *text;

		random_bytes(a, next(&seed) % (i % 3 == 0 ? 3000 : 60), &seed);
		random_bytes(b, next(&seed) % (i % 5 == 0 ? 3000 : 60), &seed);
		log_setup(i % 2 ? LOG_JSON : LOG_TEXT, LOG_INFO, log_end);
		if (i % 7 == 0)
			log_msg(LOG_INFO, "%s", a);
		else
			log_event(LOG_INFO, "e", fields);
		text = line();
		cr_assert_not_null(text);
		cr_assert(is_printable(text), "turn %d: %s", i, text);
		if (i % 2)
			cr_assert(is_json(text), "turn %d: %s", i, text);
		cr_assert_null(line());
	}
}

/* --- lines that are too long ----------------------------------------------- */

Test(log, long_lines_lose_whole_fields)
{
	static char big[2 * LINE_MAX_BYTES];
	const struct log_field fields[] = { { .type = LOG_UINT, .key = "first", .u = 1 },
					    { .type = LOG_STR, .key = "big", .s = big },
					    { .type = LOG_UINT, .key = "last_bytes", .u = 2 },
					    { .type = LOG_END } };

	start(LOG_TEXT, LOG_INFO);
	memset(big, 'x', sizeof(big) - 1);
	log_event(LOG_INFO, "e", fields);
	cr_assert_str_eq(event_line(), "info  e first=1 last_bytes=2 cut=yes");
	log_setup(LOG_JSON, LOG_INFO, log_end);
	log_event(LOG_INFO, "e", fields);
	cr_assert_str_eq(strstr(line(), ",\"first\""), ",\"first\":1,\"last_bytes\":2,\"cut\":true}");
}

/* Every length around the limit: the field is there whole and nothing says
 * "cut", or it is gone and the line says so. */
Test(log, lengths_around_the_limit)
{
	static char big[LINE_MAX_BYTES + 100];
	const struct log_field fields[] = { { .type = LOG_STR, .key = "big", .s = big },
					    { .type = LOG_UINT, .key = "n", .u = 1234567 },
					    { .type = LOG_END } };
	size_t whole = 0, cut = 0;

	start(LOG_JSON, LOG_INFO);
	for (size_t n = LINE_MAX_BYTES - 300; n < sizeof(big); n++) {
		for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
			const char *text;

			memset(big, 'x', n);
			big[n] = '\0';
			if (n % 2)
				big[n - 1] = '"'; /* escaped at the very end */
			log_setup((enum log_format)format, LOG_INFO, log_end);
			log_event(LOG_INFO, "e", fields);
			text = line();
			cr_assert_not_null(text);
			cr_assert(format != LOG_JSON || is_json(text), "%zu: %s", n, text);
			if (strstr(text, "cut") == NULL) {
				cr_assert_not_null(strstr(text, "big"));
				cr_assert_not_null(strstr(text, "1234567"));
				whole++;
			} else {
				cr_assert(strstr(text, "big") == NULL || strstr(text, "1234567") == NULL);
				cut++;
			}
		}
	}
	cr_assert_gt(whole, 100);
	cr_assert_gt(cut, 100);
}

Test(log, long_messages_keep_their_start)
{
	static char big[3 * LINE_MAX_BYTES];

	start(LOG_TEXT, LOG_INFO);
	for (size_t n = LINE_MAX_BYTES - 200; n < LINE_MAX_BYTES + 50; n++) {
		const char *text;

		for (size_t i = 0; i < n; i++)
			big[i] = "\xe6\x97\xa5"[i % 3]; /* cut within a character */
		big[n] = '\0';
		log_setup(LOG_TEXT, LOG_INFO, log_end);
		log_msg(LOG_INFO, "%s", big);
		text = line();
		cr_assert(is_printable(text));
		cr_assert_geq(strlen(text), LINE_MAX_BYTES - 220);
		if (n > LINE_MAX_BYTES)
			cr_assert_str_eq(text + strlen(text) - 3, "\xe2\x80\xa6");
		log_setup(LOG_JSON, LOG_INFO, log_end);
		log_msg(LOG_INFO, "%s", big);
		text = line();
		cr_assert(is_json(text), "%s", text);
		if (n > LINE_MAX_BYTES)
			cr_assert_not_null(strstr(text, "\",\"cut\":true}"));
	}
	memset(big, 'y', sizeof(big) - 1);
	log_event(LOG_INFO, big, all_types); /* nobody does that, but it may not overrun */
	cr_assert(is_json(line()));
	log_setup(LOG_TEXT, LOG_INFO, log_end);
	log_event(LOG_INFO, big, all_types);
	cr_assert_not_null(strstr(line(), " cut=yes"));
}

/* --- writing --------------------------------------------------------------- */

Test(log, errno_is_left_alone)
{
	start(LOG_TEXT, LOG_INFO);
	errno = ECONNRESET;
	log_msg(LOG_INFO, "x");
	cr_assert_eq(errno, ECONNRESET);
	log_setup(LOG_TEXT, LOG_INFO, -1);
	log_event(LOG_INFO, "gone", all_types);
	cr_assert_eq(errno, ECONNRESET);
	log_msg(LOG_INFO, "gone");
	cr_assert_eq(errno, ECONNRESET);
}

Test(log, a_full_pipe_that_does_not_wait_loses_lines_whole)
{
	static char text[1 << 20];
	int fd[2], lines = 0;
	size_t have = 0;
	ssize_t n;

	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	log_setup(LOG_TEXT, LOG_INFO, fd[1]);
	for (int i = 0; i < 5000; i++)
		log_msg(LOG_INFO, "line %04d of a length that divides nothing", i);
	while ((n = read(fd[0], text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	for (char *p = text; *p != '\0'; lines++) {
		char want[80];
		size_t len;

		snprintf(want, sizeof(want), "tlskit: line %04d of a length that divides nothing\n", lines);
		len = strlen(want);
		cr_assert_eq(strncmp(p, want, len), 0, "line %d: %.60s", lines, p);
		p += len;
	}
	cr_assert(lines > 500 && lines < 5000, "%d lines", lines);
}

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Reads what the log writes to the end, slowly and less than a line at once. */
static void *slow_reader(void *arg)
{
	static char text[1 << 20];
	int fd = *(int *)arg;
	size_t have = 0;
	sigset_t set;
	ssize_t n;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	do {
		usleep(1000);
		n = read(fd, text + have, 700);
		cr_assert_lt(have + 700, sizeof(text));
		if (n > 0)
			have += (size_t)n;
	} while (n > 0);
	return text;
}

/* Lines into fd[1] under a rain of signals arrive at fd[0] whole. */
static void write_interrupted(int fd[2])
{
	struct sigaction action = { .sa_handler = on_tick }; /* no SA_RESTART */
	struct itimerval every = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	static char big[3000];
	pthread_t reader;
	int lines = 0;
	void *text;

	ticks = 0;
	cr_assert_eq(pthread_create(&reader, NULL, slow_reader, &fd[0]), 0);
	cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	cr_assert_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
	memset(big, 'x', sizeof(big) - 1);
	log_setup(LOG_TEXT, LOG_INFO, fd[1]);
	for (int i = 0; i < 60; i++)
		log_msg(LOG_INFO, "%s", big);
	cr_assert_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	close(fd[1]);
	cr_assert_eq(pthread_join(reader, &text), 0);
	for (const char *p = text; *p != '\0'; lines++) {
		cr_assert_eq(strncmp(p, "tlskit: ", 8), 0);
		cr_assert_eq(strspn(p + 8, "x"), sizeof(big) - 1);
		p += 8 + sizeof(big) - 1;
		cr_assert_eq(*p++, '\n');
	}
	cr_assert_eq(lines, 60);
	cr_assert_gt(ticks, 5);
}

Test(log, interrupted_writes_go_on, .timeout = 60)
{
	int fd[2];

	cr_assert_eq(pipe(fd), 0);
	write_interrupted(fd);
}

/* A stream takes a part of a line when its buffer is smaller than that. */
Test(log, parts_of_lines_go_on, .timeout = 60)
{
	int fd[2], size = 1;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	cr_assert_eq(setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	write_interrupted(fd);
}

#define WRITERS 8
#define LINES	400

static void *writer(void *arg)
{
	const struct log_field fields[] = { { .type = LOG_UINT, .key = "writer", .u = *(int *)arg },
					    { .type = LOG_STR, .key = "name", .s = "\"quoted\" and\nbroken" },
					    { .type = LOG_END } };

	for (int i = 0; i < LINES; i++)
		log_event(LOG_INFO, "threads", fields);
	return NULL;
}

Test(log, threads_never_mix_lines, .timeout = 60)
{
	pthread_t reader, writers[WRITERS];
	int fd[2], ids[WRITERS], count[WRITERS] = { 0 };
	void *text;

	cr_assert_eq(pipe(fd), 0);
	cr_assert_eq(pthread_create(&reader, NULL, slow_reader, &fd[0]), 0);
	log_setup(LOG_JSON, LOG_INFO, fd[1]);
	for (int i = 0; i < WRITERS; i++) {
		ids[i] = i;
		cr_assert_eq(pthread_create(&writers[i], NULL, writer, &ids[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		cr_assert_eq(pthread_join(writers[i], NULL), 0);
	close(fd[1]);
	cr_assert_eq(pthread_join(reader, &text), 0);
	for (char *p = strtok(text, "\n"); p != NULL; p = strtok(NULL, "\n")) {
		const char *id = strstr(p, "\"writer\":");

		cr_assert(is_json(p), "%s", p);
		cr_assert_not_null(id);
		count[atoi(id + 9) % WRITERS]++;
	}
	for (int i = 0; i < WRITERS; i++)
		cr_assert_eq(count[i], LINES, "writer %d: %d", i, count[i]);
}
