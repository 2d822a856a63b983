/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_CLI_WRAP_H
#define TLSKIT_CLI_WRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Text in lines of a width, indented; for help. No line ends in a blank, none
 * is longer than the width: a word that is gets broken. */

struct wrap {
	FILE *out;
	size_t indent; /* of the lines that follow */
	size_t width;
	size_t at; /* columns of this line that are taken */
	bool fresh; /* nothing stands behind the indent yet */
};

/* At the start of a line. A width that leaves no room for text is widened. */
struct wrap wrap_start(FILE *out, size_t indent, size_t width);

/* Adds words, parted from what is there and from each other by a blank or a
 * new line. */
void wrap_words(struct wrap *w, const char *text);

/* Adds "(label: value)", on one line where it fits on one. */
void wrap_note(struct wrap *w, const char *label, const char *value);

void wrap_newline(struct wrap *w);

/* Prints a command line and a newline. One that is too long goes on in the next
 * line, in a way that a shell takes when both are pasted; its words are never
 * broken. */
void wrap_shell(FILE *out, const char *command, size_t indent, size_t width);

#endif
