/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/utf8.h"
#include "lib/bench/host_int.h"

#define LINE_MAX_BYTES   1024
#define NUMBER_MAX_BYTES 64

static bool full_path(char *out, size_t size, const char *root, const char *path)
{
	int n = snprintf(out, size, "%s%s", root, path);

	return n >= 0 && (size_t)n < size;
}

/* Up to size bytes; -1: cannot be read. */
static ssize_t read_some(const char *root, const char *path, char *out, size_t size)
{
	char full[PATH_MAX];
	size_t n = 0;
	int fd;

	if (!full_path(full, sizeof(full), root, path))
		return -1;
	/* not to hang on what is no file */
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	while (n < size) {
		ssize_t got = read(fd, out + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			/* sysfs answers some reads with an error of the device's */
			if (got < 0 && n == 0) {
				close(fd);
				return -1;
			}
			break;
		}
		n += (size_t)got;
	}
	close(fd);
	return (ssize_t)n;
}

char *host_file_text(const char *root, const char *path, size_t max)
{
	char *text = malloc(max + 1), *less;
	ssize_t n = text ? read_some(root, path, text, max) : -1;

	if (n <= 0) {
		free(text);
		return NULL;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\0')
			text[i] = '\n';
	}
	text[n] = '\0';
	less = realloc(text, (size_t)n + 1);
	return less ? less : text;
}

char *host_file_tidy(const char *text, size_t n)
{
	char *out, *p;

	while (n > 0 && isspace((unsigned char)text[0])) {
		text++;
		n--;
	}
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	if (n == 0)
		return NULL;
	p = out = malloc(n + 1);
	while (out && n > 0) {
		uint32_t cp = 0;
		size_t len = utf8_decode(text, n, &cp);

		if (len > 0 && !utf8_is_control(cp)) {
			memcpy(p, text, len);
			p += len;
		} else {
			*p++ = cp == '\t' ? ' ' : '?';
			len = len > 0 ? len : 1;
		}
		text += len;
		n -= len;
	}
	if (out)
		*p = '\0';
	return out;
}

char *host_file_line(const char *root, const char *path)
{
	char text[LINE_MAX_BYTES];
	ssize_t n = read_some(root, path, text, sizeof(text));
	size_t end = 0;

	while (n > 0 && end < (size_t)n && text[end] != '\n' && text[end] != '\0')
		end++;
	return end > 0 ? host_file_tidy(text, end) : NULL;
}

bool host_file_number(const char *root, const char *path, int base, int64_t *out)
{
	char text[NUMBER_MAX_BYTES + 1];
	ssize_t n = read_some(root, path, text, NUMBER_MAX_BYTES);
	long long v;
	char *end;

	if (n <= 0)
		return false;
	text[n] = '\0';
	errno = 0;
	v = strtoll(text, &end, base);
	if (end == text || errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
		return false;
	*out = v;
	return true;
}

bool host_file_exists(const char *root, const char *path)
{
	char full[PATH_MAX];

	return full_path(full, sizeof(full), root, path) && access(full, F_OK) == 0;
}

const char *host_file_value(const char *text, const char *key, size_t *n)
{
	size_t key_len = strlen(key);

	for (const char *line = text; *line != '\0';) {
		size_t len = strcspn(line, "\n");

		if (len > key_len && strncmp(line, key, key_len) == 0) {
			const char *p = line + key_len;

			p += strspn(p, " \t");
			if (*p == ':' || *p == '=') {
				p++;
				p += strspn(p, " \t");
				*n = (size_t)(line + len - p);
				return p;
			}
		}
		line += len;
		line += *line == '\n';
	}
	return NULL;
}

void host_file_each(const char *root, const char *folder, const char *beginning,
	bool (*visit)(const char *root, const char *path, void *arg), void *arg)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int left = HOST_ENTRIES;
	DIR *d;

	if (!full_path(path, sizeof(path), root, folder))
		return;
	d = opendir(path);
	while (d && left > 0 && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || strncmp(entry->d_name, beginning, strlen(beginning)) != 0)
			continue;
		left--;
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path))
			continue;
		if (!visit(root, path, arg))
			break;
	}
	if (d)
		closedir(d);
}
