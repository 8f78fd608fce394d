#include "exec/session_index.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct session_index *new_index(void) {
    struct session_index *index = session_index_new();
    if (index == NULL)
        abort();
    return index;
}

/* How often the index has the path as the kind. */
static unsigned count_of(const struct session_index *index, enum index_kind wanted, const char *wanted_path) {
    size_t position = 0, number;
    enum index_kind kind;
    const char *path;
    unsigned count = 0;
    while (session_index_next(index, &position, &kind, &path, &number))
        count += kind == wanted && (wanted_path == NULL || strcmp(path, wanted_path) == 0);
    return count;
}

static void entries(void) {
    struct session_index *index = new_index();
    size_t position = 0, number = 7, other;
    enum index_kind kind;
    const char *path;
    ok(!session_index_next(index, &position, &kind, &path, &number), "a new one is empty");
    is_int(session_index_add(index, INDEX_HOOKS, "/w/.githooks"), 0, "a path is added");
    ok(session_index_next(index, &position, &kind, &path, &number) && kind == INDEX_HOOKS &&
           strcmp(path, "/w/.githooks") == 0,
       "and found from where the reader was");
    ok(!session_index_next(index, &position, &kind, &path, &other), "once");
    is_int(session_index_add(index, INDEX_HOOKS, "/w/.githooks"), 0, "adding it again is no error");
    ok(!session_index_next(index, &position, &kind, &path, &other), "and adds nothing");
    is_int(session_index_add(index, INDEX_MADE, "/w/.githooks"), 0, "as another kind it is another entry");
    is_int(session_index_add(index, INDEX_MADE, "/w/x.git"), 0, "and so is another path");
    ok(session_index_next(index, &position, &kind, &path, &other) && kind == INDEX_MADE && other != number,
       "which has a number of its own");
    session_index_set_stamp(index, other, ~0ull);
    ok(session_index_stamp(index, other) == ~0ull && session_index_stamp(index, number) == 0,
       "a stamp belongs to one entry");
    is_int(session_index_add(index, INDEX_HOOKS, "/late"), 0, "the first kind goes on growing");
    unsigned rest = 0;
    while (session_index_next(index, &position, &kind, &path, &other))
        rest++;
    is_int(rest, 2, "and a reader in the middle sees all of both");
    session_index_free(index);
}

static void refusals(void) {
    struct session_index *index = new_index();
    char path[4200];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[4095] = '\0';
    is_int(session_index_add(index, INDEX_MADE, path), 0, "the longest of paths has room");
    path[4095] = 'x';
    path[4096] = '\0';
    ok(session_index_add(index, INDEX_MADE, path) != 0, "a longer one has not");
    ok(session_index_add(index, INDEX_MADE, "") != 0, "and an empty one is none");
    path[4095] = '\0';
    unsigned added = 0;
    for (; added < 100000; added++) {
        path[1] = (char)('A' + added % 50);
        path[2] = (char)('A' + added / 50 % 50);
        path[3] = (char)('A' + added / 2500);
        if (session_index_add(index, INDEX_MADE, path) != 0)
            break;
    }
    ok(added > 1000 && added < 100000, "a kind that is full says so");
    is_int(session_index_add(index, INDEX_HOOKS, "/w/hooks"), 0, "the other kind has room then");
    is_int(count_of(index, INDEX_HOOKS, "/w/hooks"), 1, "and is read");
    session_index_free(index);
}

/* Adds what others add as well, and some of its own. */
static void add_many(struct session_index *index, unsigned from, unsigned count) {
    char path[64];
    for (unsigned i = from; i < from + count; i++) {
        snprintf(path, sizeof path, "/w/repository-%u/.git", i);
        if (session_index_add(index, INDEX_MADE, path) != 0)
            _exit(1);
    }
}

static void two_processes(void) {
    enum { EACH = 2000, OFFSET = 1000, CHILDREN = 3 };
    struct session_index *index = new_index();
    pid_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++)
        if ((children[i] = fork()) == 0) {
            add_many(index, i * OFFSET, EACH);
            _exit(0);
        }
    unsigned failed = 0;
    for (unsigned i = 0; i < CHILDREN; i++) {
        int status;
        waitpid(children[i], &status, 0);
        failed += status != 0;
    }
    is_int(failed, 0, "processes that add at once all succeed");
    is_int(count_of(index, INDEX_MADE, NULL), OFFSET * (CHILDREN - 1) + EACH, "each path is there");
    unsigned once = 0;
    char path[64];
    for (unsigned i = 0; i < OFFSET * (CHILDREN - 1) + EACH; i += 97) {
        snprintf(path, sizeof path, "/w/repository-%u/.git", i);
        once += count_of(index, INDEX_MADE, path) == 1;
    }
    is_int(once, (OFFSET * (CHILDREN - 1) + EACH + 96) / 97, "and no path is there twice");
    session_index_free(index);
}

/* A writer that is killed anywhere leaves whole entries, and others go on. */
static void killed(void) {
    struct session_index *index = new_index();
    unsigned damaged = 0, failed = 0;
    unsigned seed = 1;
    for (unsigned round = 0; round < 60; round++) {
        pid_t child = fork();
        if (child == 0) {
            for (unsigned i = 0; i < 50; i++)
                add_many(index, round * 50 + i, 1);
            pause();
        }
        usleep(seed % 700);
        seed = seed * 1103515245u + 12345;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        char path[64];
        snprintf(path, sizeof path, "/after/%u", round);
        failed += session_index_add(index, INDEX_MADE, path) != 0 || count_of(index, INDEX_MADE, path) != 1;
    }
    size_t position = 0, number;
    enum index_kind kind;
    const char *path;
    while (session_index_next(index, &position, &kind, &path, &number)) {
        unsigned value;
        char end;
        damaged += sscanf(path, "/w/repository-%u/.gi%c", &value, &end) != 2 &&
                   sscanf(path, "/after/%u", &value) != 1;
    }
    is_int(failed, 0, "after a kill -9 at any time others can add and read");
    is_int(damaged, 0, "and no entry is half done");
    session_index_free(index);
}

static void moves(void) {
    struct session_index *index = new_index();
    uint64_t before = session_index_moves(index);
    ok(before == session_index_moves(index) && (before & 1) == 0, "without a move the count stays, even");
    session_index_move_begins(index);
    uint64_t during = session_index_moves(index);
    ok(during != before && (during & 1) == 1, "while a move goes on it is odd");
    ok(during != session_index_moves(index), "and each answer another one");
    session_index_move_begins(index);
    session_index_move_ended(index);
    ok((session_index_moves(index) & 1) == 1, "of two moves one still goes on");
    session_index_move_ended(index);
    uint64_t after = session_index_moves(index);
    ok(after != before && after != during && after == session_index_moves(index),
       "after them it stays at another count");
    session_index_free(index);
}

/* The rule for who makes a name: either it sees the move, or the mover sees the name. */
struct race {
    struct session_index *index;
    _Atomic unsigned moved, made, seen_by_mover;
    pthread_barrier_t start;
};

static void *mover(void *data) {
    struct race *race = data;
    pthread_barrier_wait(&race->start);
    session_index_move_begins(race->index);
    race->moved = 1;
    race->seen_by_mover = race->made;
    session_index_move_ended(race->index);
    return NULL;
}

static void races(void) {
    struct session_index *index = new_index();
    unsigned missed = 0;
    for (unsigned i = 0; i < 3000; i++) {
        struct race race = {.index = index};
        pthread_t thread;
        pthread_barrier_init(&race.start, NULL, 2);
        if (pthread_create(&thread, NULL, mover, &race) != 0)
            abort();
        pthread_barrier_wait(&race.start);
        uint64_t before = session_index_moves(index);
        bool judged_moved = race.moved != 0;
        race.made = 1;
        bool judges_again = session_index_moves(index) != before;
        pthread_join(thread, NULL);
        missed += !judged_moved && !judges_again && race.seen_by_mover == 0;
        pthread_barrier_destroy(&race.start);
    }
    is_int(missed, 0, "no name is made at a place that nobody judges");
    session_index_free(index);
}

int main(void) {
    entries();
    refusals();
    two_processes();
    killed();
    moves();
    races();
    return done_testing();
}
