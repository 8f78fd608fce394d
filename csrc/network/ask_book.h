/*
 * What the caller is asked about hosts, who waits for it, and what was answered: one question per host and
 * port at a time, an answer holds for the rest of each run that waited for it. Pure.
 */
#ifndef OS_SANDBOX_NETWORK_ASK_BOOK_H
#define OS_SANDBOX_NETWORK_ASK_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/list.h"
#include "policy/network_rules.h"

#define ASK_TIMEOUT_MS ((uint64_t)5 * 60 * 1000)
/* As many answers are remembered; of more the oldest are forgotten, and asked for again. */
#define ASK_ANSWERS_MAX 16384u

enum ask_outcome { ASK_ALLOWED, ASK_REFUSED, ASK_TIMED_OUT };

struct ask_book;
struct ask_question;

/* One that waits; part of what waits. */
struct ask_waiter {
    struct link link;
    struct ask_question *question; /* NULL: it does not wait */
    uint32_t run;                  /* 0: not known; its answer is not remembered */
    void (*answered)(struct ask_waiter *waiter, enum ask_outcome outcome);
};

/* May call back into the book: an answer from inside ask is one. */
struct ask_hooks {
    void (*ask)(void *data, uint64_t question, const char *host, uint16_t port);
    void (*withdraw)(void *data, uint64_t question);
    void *data;
};

/* NULL: out of memory. */
struct ask_book *ask_book_new(const struct ask_hooks *hooks);
/* Whoever waits is forgotten, and nothing withdrawn. */
void ask_book_free(struct ask_book *book);

/* Whether that run has an answer for it. */
bool ask_book_recall(struct ask_book *book, uint32_t run, const struct network_target *target,
                     enum ask_outcome *outcome);

/*
 * Waits for the answer that is awaited already, or asks. answered is called once, unless it leaves before;
 * perhaps from inside (a quick answer). -1: out of memory, it does not wait.
 */
int ask_book_wait(struct ask_book *book, const struct network_target *target, uint64_t now_ms,
                  struct ask_waiter *waiter);

/* It waits no more; a question that nobody waits for is withdrawn. Harmless for one that does not wait. */
void ask_book_leave(struct ask_book *book, struct ask_waiter *waiter);

/* An unknown number (withdrawn, answered) is ignored. */
void ask_book_answer(struct ask_book *book, uint64_t question, bool allowed);

/* Ends what was asked ASK_TIMEOUT_MS ago: refused, and withdrawn. */
void ask_book_expire(struct ask_book *book, uint64_t now_ms);

/* When the oldest open question ends; 0: none is open. */
uint64_t ask_book_due(const struct ask_book *book);

void ask_book_forget_run(struct ask_book *book, uint32_t run);
void ask_book_forget_answers(struct ask_book *book);

#endif
