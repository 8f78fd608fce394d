/* Questions, those who wait for them, and what is remembered. */
#include "network/ask_book.h"
#include "tap.h"

#include <stdlib.h>

static struct ask_book *book;

/* What the book asked for, as a log: "ask 1 a.example.com:443; withdraw 1; ". */
static char heard[512];
static int answer_at_once = -1; /* 0 or 1: from inside the question */

static void on_ask(void *data, uint64_t question, const char *host, uint16_t port) {
    (void)data;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "ask %llu %s:%u; ", (unsigned long long)question, host, port);
    if (answer_at_once >= 0)
        ask_book_answer(book, question, answer_at_once == 1);
}

static void on_withdraw(void *data, uint64_t question) {
    (void)data;
    size_t used = strlen(heard);
    snprintf(heard + used, sizeof heard - used, "withdraw %llu; ", (unsigned long long)question);
}

struct waiting {
    struct ask_waiter waiter;
    unsigned answers;
    enum ask_outcome outcome;
    struct ask_waiter *leaves; /* another one that leaves when this one is answered */
};

static void on_answered(struct ask_waiter *waiter, enum ask_outcome outcome) {
    struct waiting *waiting = LINK_OWNER(waiter, struct waiting, waiter);
    waiting->answers++;
    waiting->outcome = outcome;
    if (waiting->leaves != NULL)
        ask_book_leave(book, waiting->leaves);
}

static struct network_target target(const char *host, uint16_t port) {
    struct network_target out = {0};
    if (network_target_parse(host, strlen(host), port, &out) != 0)
        ok(false, "%s is a host", host);
    return out;
}

static struct waiting waiting_of(uint32_t run) {
    return (struct waiting){.waiter = {.run = run, .answered = on_answered}};
}

static void wait_for(struct waiting *waiting, const char *host, uint16_t port, uint64_t now) {
    struct network_target wanted = target(host, port);
    ask_book_wait(book, &wanted, now, &waiting->waiter);
}

/* 'a', 'r', 't', or '-' where nothing is remembered. */
static char recalled(uint32_t run, const char *host, uint16_t port) {
    struct network_target wanted = target(host, port);
    enum ask_outcome outcome;
    return ask_book_recall(book, run, &wanted, &outcome) ? "art"[outcome] : '-';
}

static void begin(void) {
    const struct ask_hooks hooks = {.ask = on_ask, .withdraw = on_withdraw};
    heard[0] = '\0';
    answer_at_once = -1;
    book = ask_book_new(&hooks);
}

static void asks_once_for_all(void) {
    begin();
    struct waiting one = waiting_of(1);
    struct waiting two = waiting_of(1);
    struct waiting other_run = waiting_of(2);
    struct waiting other_port = waiting_of(1);
    wait_for(&one, "a.example.com", 443, 0);
    wait_for(&two, "A.example.com.", 443, 1);
    wait_for(&other_run, "a.example.com", 443, 2);
    wait_for(&other_port, "a.example.com", 80, 3);
    is_str(heard, "ask 1 a.example.com:443; ask 2 a.example.com:80; ", "one question per host and port");
    ask_book_answer(book, 1, true);
    ok(one.answers == 1 && two.answers == 1 && other_run.answers == 1, "all that wait hear one answer");
    ok(one.outcome == ASK_ALLOWED && two.outcome == ASK_ALLOWED && other_run.outcome == ASK_ALLOWED,
       "which allows them");
    is_int(other_port.answers, 0, "the other question is open");
    ask_book_answer(book, 1, false);
    is_int(one.answers, 1, "a second answer is ignored");
    ok(recalled(1, "a.example.com", 443) == 'a' && recalled(2, "a.example.com", 443) == 'a',
       "the answer is remembered for each run that waited");
    ok(recalled(3, "a.example.com", 443) == '-', "and for no other");
    ok(recalled(1, "a.example.com", 444) == '-', "nor for another port");
    ask_book_forget_run(book, 1);
    ok(recalled(1, "a.example.com", 443) == '-' && recalled(2, "a.example.com", 443) == 'a',
       "a run's end forgets its answers alone");
    ask_book_answer(book, 2, false);
    ok(recalled(1, "a.example.com", 80) == 'r', "a refusal is remembered, too");
    ask_book_forget_answers(book);
    ok(recalled(1, "a.example.com", 80) == '-', "new rules forget all");
    ask_book_free(book);
}

static void withdraws_what_nobody_waits_for(void) {
    begin();
    struct waiting one = waiting_of(1);
    struct waiting two = waiting_of(2);
    wait_for(&one, "192.0.2.7", 22, 0);
    wait_for(&two, "192.0.2.7", 22, 0);
    ask_book_leave(book, &one.waiter);
    is_str(heard, "ask 1 192.0.2.7:22; ", "a question stays while one waits");
    ask_book_leave(book, &two.waiter);
    ask_book_leave(book, &two.waiter);
    is_str(heard, "ask 1 192.0.2.7:22; withdraw 1; ", "and is withdrawn, once, when nobody does");
    ask_book_answer(book, 1, true);
    ok(one.answers == 0 && two.answers == 0 && recalled(1, "192.0.2.7", 22) == '-',
       "what is answered after that is nobody's");
    is_int((long long)ask_book_due(book), 0, "nothing is open");
    ask_book_free(book);
}

static void answers_may_come_from_inside(void) {
    begin();
    struct waiting one = waiting_of(1);
    answer_at_once = 1;
    wait_for(&one, "a.example.com", 443, 0);
    ok(one.answers == 1 && one.outcome == ASK_ALLOWED, "an answer from inside the question is heard");
    ok(one.waiter.question == NULL, "and it waits no more");

    answer_at_once = -1;
    struct waiting first = waiting_of(1);
    struct waiting second = waiting_of(1);
    first.leaves = &second.waiter;
    wait_for(&first, "b.example.com", 443, 0);
    wait_for(&second, "b.example.com", 443, 0);
    ask_book_answer(book, 2, false);
    ok(first.answers == 1 && second.answers == 0, "who leaves from inside another's answer hears none");
    is_str(heard, "ask 1 a.example.com:443; ask 2 b.example.com:443; ", "and nothing is withdrawn by that");
    ask_book_free(book);
}

static void ends_what_is_not_answered(void) {
    begin();
    struct waiting one = waiting_of(1);
    struct waiting two = waiting_of(1);
    struct waiting nobody = waiting_of(0);
    wait_for(&one, "a.example.com", 1, 1000);
    wait_for(&two, "b.example.com", 1, 2000);
    is_int((long long)ask_book_due(book), 1000 + ASK_TIMEOUT_MS, "the oldest is due first");
    ask_book_expire(book, 1000 + ASK_TIMEOUT_MS - 1);
    is_int(one.answers, 0, "until then it is open");
    ask_book_expire(book, 1000 + ASK_TIMEOUT_MS);
    ok(one.answers == 1 && one.outcome == ASK_TIMED_OUT && two.answers == 0, "then it ends, and no other");
    is_str(heard, "ask 1 a.example.com:1; ask 2 b.example.com:1; withdraw 1; ", "and is withdrawn");
    ok(recalled(1, "a.example.com", 1) == 't', "nobody is asked that again in this run");
    wait_for(&nobody, "c.example.com", 1, 3000);
    ask_book_answer(book, 3, true);
    ok(nobody.answers == 1 && recalled(0, "c.example.com", 1) == '-',
       "what an unknown run was answered is not remembered");
    /* Two are open when it is freed: the sanitizer tells if they are lost. */
    struct waiting last = waiting_of(1);
    wait_for(&last, "b.example.com", 1, 3000);
    ask_book_free(book);
    ok(two.answers == 0 && last.answers == 0, "who waits when it is freed hears nothing");
}

static void forgets_the_oldest(void) {
    begin();
    answer_at_once = 0;
    char name[32];
    for (unsigned i = 0; i <= ASK_ANSWERS_MAX; i++) {
        struct waiting one = waiting_of(1);
        heard[0] = '\0';
        snprintf(name, sizeof name, "n%u.example.com", i);
        wait_for(&one, name, 443, 0);
    }
    ok(recalled(1, "n0.example.com", 443) == '-', "of more answers than are kept the oldest is forgotten");
    ok(recalled(1, "n1.example.com", 443) == 'r' && recalled(1, name, 443) == 'r', "and no other");
    ask_book_free(book);
}

int main(void) {
    asks_once_for_all();
    withdraws_what_nobody_waits_for();
    answers_may_come_from_inside();
    ends_what_is_not_answered();
    forgets_the_oldest();
    return done_testing();
}
