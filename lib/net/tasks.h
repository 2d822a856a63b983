/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TLSKIT_NET_TASKS_H
#define TLSKIT_NET_TASKS_H

#include "lib/net/loop.h"

/* Queues of loop tasks, for loop.c. The links are in the tasks. */
struct task_list {
	struct loop_task *head, **tail;
};

static inline void tasks_init(struct task_list *q)
{
	q->head = NULL;
	q->tail = &q->head;
}

static inline void tasks_append(struct task_list *q, struct loop_task *t)
{
	t->next = NULL;
	t->prev = q->tail;
	*q->tail = t;
	q->tail = &t->next;
	t->queued = true;
}

static inline void tasks_remove(struct task_list *q, struct loop_task *t)
{
	*t->prev = t->next;
	if (t->next != NULL)
		t->next->prev = t->prev;
	else
		q->tail = t->prev;
	t->queued = false;
}

/* For a task that is in one of two lists: only the last one of a list has
 * anything to do with the list itself. */
static inline void tasks_remove_from(struct task_list *a, struct task_list *b, struct loop_task *t)
{
	tasks_remove(a->tail == &t->next ? a : b, t);
}

static inline struct loop_task *tasks_pop(struct task_list *q)
{
	struct loop_task *t = q->head;

	if (t != NULL)
		tasks_remove(q, t);
	return t;
}

/* Moves all of `from` behind what `to` holds. */
static inline void tasks_move(struct task_list *to, struct task_list *from)
{
	if (from->head == NULL)
		return;
	*to->tail = from->head;
	from->head->prev = to->tail;
	to->tail = from->tail;
	tasks_init(from);
}

#endif
