/* What the tests of exec/rules.h share: a supervisor's part, played in a scratch folder. */
#ifndef OS_SANDBOX_TEST_RULES_RUN_H
#define OS_SANDBOX_TEST_RULES_RUN_H

#include "exec/report.h"
#include "exec/rules.h"
#include "tap.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stands for the supervisor: judges, makes, notes. All paths are below the scratch folder. */
static char scratch[64];
static struct payload policy;
static struct session_index *session;
static struct rules *rules;
static const char *why;

static inline const char *at(const char *path) {
    static char texts[4][2 * PATH_MAX];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s%s", scratch, path);
    return text;
}

static inline void run_begins(void) {
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    rules = rules_new(&policy, root, session);
    if (rules == NULL)
        abort();
}

/* The violation lines of the end. */
static char lines[65536];

static inline void run_ends(void) {
    int ends[2];
    if (pipe(ends) != 0)
        abort();
    struct report *report = report_new(ends[1], &policy);
    rules_finish(rules, report);
    report_finish(report);
    report_flush(report);
    close(ends[1]);
    ssize_t got = read(ends[0], lines, sizeof lines - 1);
    lines[got < 0 ? 0 : got] = '\0';
    close(ends[0]);
    report_free(report);
    rules_free(rules);
}

static inline bool may(enum rule_act act, const char *path) {
    why = rules_refuse(rules, act, at(path));
    return why == NULL;
}

static inline bool make_folder(const char *path) {
    if (!may(RULE_CREATE, path) || mkdir(at(path), 0777) != 0)
        return false;
    rules_note(rules, at(path));
    return true;
}

static inline bool write_file(const char *path, const char *text) {
    bool is_new = access(at(path), F_OK) != 0;
    if (!may(is_new ? RULE_CREATE : RULE_WRITE, path))
        return false;
    FILE *file = fopen(at(path), "w");
    if (file == NULL)
        return false;
    fputs(text, file);
    fclose(file);
    rules_note(rules, at(path));
    return true;
}

static inline bool remove_at(const char *path) {
    return may(RULE_REMOVE, path) && remove(at(path)) == 0;
}

static inline bool move(const char *from, const char *to) {
    int folder = open(at(from), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    bool is_folder = fstat(folder, &facts) == 0 && S_ISDIR(facts.st_mode);
    bool allowed = may(RULE_REMOVE, from) && may(RULE_CREATE, to);
    if (allowed && is_folder)
        allowed = (why = rules_refuse_move(rules, folder, at(from), at(to))) == NULL;
    close(folder);
    if (!allowed || rename(at(from), at(to)) != 0)
        return false;
    if (is_folder)
        rules_note_move(rules, at(from), at(to));
    rules_note(rules, at(to));
    return true;
}

/* As the host does it. */
static inline void host(const char *script) {
    char command[4096];
    snprintf(command, sizeof command, "cd %s && { %s; } >/dev/null 2>&1", scratch, script);
    if (system(command) != 0)
        printf("# the host could not: %s\n", script);
}

static inline bool there(const char *path) {
    return access(at(path), F_OK) == 0;
}

static inline bool told(const char *text) {
    return strstr(lines, text) != NULL;
}

/* As git init and clone do it, in their order. */
static inline bool make_repository(const char *path) {
    char name[PATH_MAX];
    bool made = true;
    const char *const folders[] = {"", "/branches", "/hooks", "/info", "/refs", "/refs/heads", "/refs/tags"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, folders[i]);
        made = (there(name) || make_folder(name)) && made;
    }
    const char *const files[] = {"/hooks/pre-commit.sample", "/description", "/HEAD.lock"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, files[i]);
        made = write_file(name, "ref: refs/heads/main\n") && made;
    }
    char other[PATH_MAX];
    snprintf(name, sizeof name, "%s/HEAD.lock", path);
    snprintf(other, sizeof other, "%s/HEAD", path);
    made = move(name, other) && made;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s/config.lock", path);
        snprintf(other, sizeof other, "%s/config", path);
        made = write_file(name, "[core]\n\tbare = false\n\tfsmonitor = /evil\n") && move(name, other) && made;
        snprintf(name, sizeof name, "%s/objects", path);
        made = (there(name) || make_folder(name)) && made;
    }
    return made;
}

static inline void test_begins(void) {
    snprintf(scratch, sizeof scratch, "/var/tmp/os-sandbox-rules-XXXXXX");
    if (mkdtemp(scratch) == NULL || (session = session_index_new()) == NULL)
        abort();
    policy.common_dir = policy.worktree = "";
}

/* The result is main's. */
static inline int test_ends(void) {
    char command[128];
    session_index_free(session);
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    return system(command) == 0 ? done_testing() : 1;
}

#endif
