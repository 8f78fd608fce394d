#include "network/ask_book.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 256u

struct ask_question {
    struct link link; /* oldest first; in no list once it was answered */
    struct link waiters;
    struct network_target target;
    uint64_t number;
    uint64_t due_ms;
};

struct remembered {
    struct link by_age;
    struct link by_hash;
    struct network_target target;
    uint32_t run;
    enum ask_outcome outcome;
};

struct ask_book {
    struct ask_hooks hooks;
    struct link questions;
    uint64_t last_number;
    struct link answers;
    struct link buckets[BUCKETS];
    size_t answer_count;
};

struct ask_book *ask_book_new(const struct ask_hooks *hooks) {
    struct ask_book *book = calloc(1, sizeof *book);
    if (book == NULL)
        return NULL;
    book->hooks = *hooks;
    link_head(&book->questions);
    link_head(&book->answers);
    for (size_t i = 0; i < BUCKETS; i++)
        link_head(&book->buckets[i]);
    return book;
}

static void detach_waiters(struct ask_question *question) {
    for (struct link *at; (at = link_take(&question->waiters)) != NULL;)
        LINK_OWNER(at, struct ask_waiter, link)->question = NULL;
}

static void forget(struct ask_book *book, struct remembered *answer) {
    link_remove(&answer->by_age);
    link_remove(&answer->by_hash);
    book->answer_count--;
    free(answer);
}

void ask_book_forget_answers(struct ask_book *book) {
    while (!link_is_empty(&book->answers))
        forget(book, LINK_OWNER(book->answers.next, struct remembered, by_age));
}

void ask_book_free(struct ask_book *book) {
    if (book == NULL)
        return;
    for (struct link *at; (at = link_take(&book->questions)) != NULL;) {
        struct ask_question *question = LINK_OWNER(at, struct ask_question, link);
        detach_waiters(question);
        free(question);
    }
    ask_book_forget_answers(book);
    free(book);
}

static struct link *bucket_of(struct ask_book *book, uint32_t run, const struct network_target *target) {
    uint32_t hash = 2166136261u ^ run ^ ((uint32_t)target->port << 16);
    for (const char *c = target->name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    for (size_t i = 0; network_target_is_address(target) && i < IP_ADDRESS_BYTES; i++)
        hash = (hash ^ target->address[i]) * 16777619u;
    return &book->buckets[(hash ^ (hash >> 16)) % BUCKETS];
}

static struct remembered *find_answer(struct ask_book *book, uint32_t run,
                                      const struct network_target *target) {
    struct link *bucket = bucket_of(book, run, target);
    for (struct link *at = bucket->next; at != bucket; at = at->next) {
        struct remembered *answer = LINK_OWNER(at, struct remembered, by_hash);
        if (answer->run == run && network_target_equal(&answer->target, target))
            return answer;
    }
    return NULL;
}

bool ask_book_recall(struct ask_book *book, uint32_t run, const struct network_target *target,
                     enum ask_outcome *outcome) {
    const struct remembered *answer = run == 0 ? NULL : find_answer(book, run, target);
    if (answer == NULL)
        return false;
    *outcome = answer->outcome;
    return true;
}

/* Without memory it will be asked for again. */
static void remember(struct ask_book *book, uint32_t run, const struct network_target *target,
                     enum ask_outcome outcome) {
    if (run == 0 || find_answer(book, run, target) != NULL)
        return;
    struct remembered *answer = calloc(1, sizeof *answer);
    if (answer == NULL)
        return;
    if (book->answer_count >= ASK_ANSWERS_MAX)
        forget(book, LINK_OWNER(book->answers.next, struct remembered, by_age));
    answer->target = *target;
    answer->run = run;
    answer->outcome = outcome;
    link_add(&book->answers, &answer->by_age);
    link_add(bucket_of(book, run, target), &answer->by_hash);
    book->answer_count++;
}

static struct ask_question *find_question(struct ask_book *book, const struct network_target *target) {
    for (struct link *at = book->questions.next; at != &book->questions; at = at->next) {
        struct ask_question *question = LINK_OWNER(at, struct ask_question, link);
        if (network_target_equal(&question->target, target))
            return question;
    }
    return NULL;
}

static void join(struct ask_question *question, struct ask_waiter *waiter) {
    waiter->question = question;
    link_add(&question->waiters, &waiter->link);
}

int ask_book_wait(struct ask_book *book, const struct network_target *target, uint64_t now_ms,
                  struct ask_waiter *waiter) {
    struct ask_question *question = find_question(book, target);
    if (question != NULL) {
        join(question, waiter);
        return 0;
    }
    question = calloc(1, sizeof *question);
    if (question == NULL)
        return -1;
    link_head(&question->waiters);
    question->target = *target;
    question->number = ++book->last_number;
    question->due_ms = now_ms + ASK_TIMEOUT_MS;
    link_add(&book->questions, &question->link);
    join(question, waiter);
    char host[DOMAIN_NAME_MAX + 1];
    network_target_host(target, host);
    /* An answer may come from inside: the question is gone then. */
    book->hooks.ask(book->hooks.data, question->number, host, target->port);
    return 0;
}

void ask_book_leave(struct ask_book *book, struct ask_waiter *waiter) {
    struct ask_question *question = waiter->question;
    if (question == NULL)
        return;
    link_remove(&waiter->link);
    waiter->question = NULL;
    /* One that is being answered is out of the list. */
    if (!link_is_empty(&question->waiters) || !link_is_in_list(&question->link))
        return;
    uint64_t number = question->number;
    link_remove(&question->link);
    free(question);
    book->hooks.withdraw(book->hooks.data, number);
}

static void settle(struct ask_book *book, struct ask_question *question, enum ask_outcome outcome) {
    link_remove(&question->link);
    for (struct link *at; (at = link_take(&question->waiters)) != NULL;) {
        struct ask_waiter *waiter = LINK_OWNER(at, struct ask_waiter, link);
        waiter->question = NULL;
        remember(book, waiter->run, &question->target, outcome);
        waiter->answered(waiter, outcome);
    }
    free(question);
}

void ask_book_answer(struct ask_book *book, uint64_t number, bool allowed) {
    for (struct link *at = book->questions.next; at != &book->questions; at = at->next) {
        struct ask_question *question = LINK_OWNER(at, struct ask_question, link);
        if (question->number != number)
            continue;
        settle(book, question, allowed ? ASK_ALLOWED : ASK_REFUSED);
        return;
    }
}

void ask_book_expire(struct ask_book *book, uint64_t now_ms) {
    while (!link_is_empty(&book->questions)) {
        struct ask_question *oldest = LINK_OWNER(book->questions.next, struct ask_question, link);
        if (oldest->due_ms > now_ms)
            return;
        uint64_t number = oldest->number;
        settle(book, oldest, ASK_TIMED_OUT);
        book->hooks.withdraw(book->hooks.data, number);
    }
}

uint64_t ask_book_due(const struct ask_book *book) {
    return link_is_empty(&book->questions)
               ? 0
               : LINK_OWNER(book->questions.next, struct ask_question, link)->due_ms;
}

void ask_book_forget_run(struct ask_book *book, uint32_t run) {
    for (struct link *at = book->answers.next; at != &book->answers;) {
        struct remembered *answer = LINK_OWNER(at, struct remembered, by_age);
        at = at->next;
        if (answer->run == run)
            forget(book, answer);
    }
}
