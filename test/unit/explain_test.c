#include "exec/explain.h"
#include "exec/report.h"
#include "walk_tree.h"

static void enter_run(void *unused) {
    unshare_as_run(CLONE_NEWNS);
    freeze("frozen");
    freeze("frozen-file");
    if (mount("dir", "frozen/inner", NULL, MS_BIND, NULL) != 0)
        _exit(120);
    /* The mounts are there now. */
    char above[128];
    snprintf(above, sizeof above, "%s", top);
    if (chdir("/") != 0 || chdir(above) != 0)
        _exit(119);
    open_descriptors(unused);
}

/* Each is asked for with an operation of its own, so that none is counted as a repetition. */
struct question {
    const char *path;
    int errnum;
    bool refused;
};

static const struct question questions[] = {
    {"frozen/new", EROFS, true},
    {"frozen/file", EROFS, true},
    {"frozen-file", EROFS, true},
    {"frozen/inner", EROFS, true},
    {"file", EROFS, false},
    {"frozen/new", EACCES, true},
    {"frozen/file", EACCES, true},
    {"frozen/file", EPERM, true},
    {"frozen-file", EACCES, true},
    {"frozen/inner", EACCES, false},
    {"frozen/inner/file", EPERM, false},
    {"frozen/inner/new", EACCES, false},
    {"file", EACCES, false},
    {"file", EPERM, false},
    {"new", EACCES, false},
    {"closed/file", EACCES, false},
    {"frozen", EBUSY, true},
    {"frozen-file", EBUSY, true},
    {"frozen/inner", EBUSY, true},
    {"frozen/file", EBUSY, false},
    {"dir", EBUSY, false},
    {"frozen/file", EXDEV, true},
    {"frozen/inner/file", EXDEV, false},
    {"file", EXDEV, false},
    {"frozen/new", ENOENT, false},
    {"frozen/file", EEXIST, false},
    {"frozen/file", EINVAL, false},
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

/* What was reported since the last time. */
static void take_report(const struct call *call, int events, char *text, size_t size) {
    report_flush(call->supervisor->report);
    ssize_t length = read(events, text, size - 1);
    text[length < 0 ? 0 : length] = '\0';
}

static void is_explained(const struct call *call, int events, const char *operation,
                         const struct question *question) {
    char text[4096], wanted[256];
    take_report(call, events, text, sizeof text);
    snprintf(wanted, sizeof wanted, "\"operation\":\"%s\",\"path\":\"%s/%s\"", operation, top,
             question->path);
    const char *error = strerror(question->errnum);
    bool right = question->refused ? strstr(text, wanted) != NULL : text[0] == '\0';
    if (!ok(right, "%s at %s is %s", error, question->path, question->refused ? "a refusal" : "none"))
        diag("reported", text);
}

static void places(struct call *call, int events) {
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct place place;
        char operation[32];
        snprintf(operation, sizeof operation, "place-%zu", i);
        walk_to_place(call, AT_FDCWD, questions[i].path, false, &place);
        struct answer answer = explain_place(call, operation, &place, questions[i].errnum);
        place_clear(&place);
        is_explained(call, events, operation, &questions[i]);
        ok(answer.kind == ANSWER_RESULT && answer.value == -questions[i].errnum,
           "and the answer is the errno");
    }
}

/* Of an object it is its own mount that counts, and no name that may be missing. */
static void objects(struct call *call, int events) {
    static const struct question of_objects[] = {
        {"frozen/file", EROFS, true},        {"frozen/file", EACCES, true}, {"frozen-file", EPERM, true},
        {"frozen/inner/file", EPERM, false}, {"file", EACCES, false},       {"frozen/file", EINVAL, false},
    };
    for (size_t i = 0; i < sizeof of_objects / sizeof *of_objects; i++) {
        struct place place;
        char operation[32];
        snprintf(operation, sizeof operation, "object-%zu", i);
        int fd = walk_to_object(call, AT_FDCWD, of_objects[i].path, false, &place);
        place_clear(&place);
        struct answer answer = explain_object(call, operation, fd, of_objects[i].errnum);
        close(fd);
        is_explained(call, events, operation, &of_objects[i]);
        ok(answer.kind == ANSWER_RESULT && answer.value == -of_objects[i].errnum,
           "and the answer is the errno");
    }
}

/* A walk that failed early has no place. */
static void nowhere(struct call *call, int events) {
    const struct question question = {"", EACCES, false};
    struct place place;
    walk_to_place(call, AT_FDCWD, "missing/x", false, &place);
    explain_place(call, "nowhere", &place, EACCES);
    place_clear(&place);
    is_explained(call, events, "nowhere", &question);
}

int main(void) {
    static const struct payload nothing;
    struct notified child;
    int events[2];
    if (!ok(become_plain_user() && pipe2(events, O_NONBLOCK | O_CLOEXEC) == 0,
            "the test runs as a plain user"))
        return done_testing();
    make_tree();
    if (ok(notified_start(&child, waiting_call, 1, enter_run, wait_for_ever, NULL) && notified_next(&child),
           "a process waits for its answer")) {
        child.supervisor.report = report_new(events[1], &nothing);
        places(&child.call, events[0]);
        objects(&child.call, events[0]);
        nowhere(&child.call, events[0]);
        free(child.supervisor.report);
        notified_end(&child, true);
    }
    remove_tree();
    return done_testing();
}
