/* The end of a run: git directories that commands made are made harmless. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/git_check.h"
#include "exec/report.h"
#include "exec/rules_internal.h"
#include "exec/rules_stamp.h"
#include "exec/walk.h"
#include "policy/protected_names.h"

struct finding {
    struct report *report;
    const char *directory;
};

static void tell(void *data, const char *name, const char *why) {
    const struct finding *finding = data;
    if (finding->report == NULL)
        return;
    bool is_hook = strncmp(name, "hooks", 5) == 0 || strstr(name, "/hooks") != NULL;
    char path[2 * PATH_MAX];
    char words[512];
    snprintf(path, sizeof path, "%s/%s", finding->directory, name);
    bool failed = strncmp(why, "could not", 9) == 0;
    snprintf(words, sizeof words, "%s: the host's git would run it (%s)", failed ? "left" : "taken out", why);
    report_found(finding->report, path, is_hook ? "file-write-create" : "file-write-data", words);
}

static uint64_t stamp_of(struct rules *rules, const char *path) {
    size_t number;
    bool known = path_set_find(&rules->made_before, path, strlen(path), &number);
    return known ? session_index_stamp(rules->index, number) : 0;
}

static void set_stamp(struct rules *rules, const char *path, uint64_t stamp) {
    size_t number;
    if (path_set_find(&rules->made_before, path, strlen(path), &number))
        session_index_set_stamp(rules->index, number, stamp);
}

/* Also of one that waits to be reaped: then its run's end is near, and the next one looks again. */
static bool is_alive(pid_t supervisor) {
    return supervisor == getpid() || kill(supervisor, 0) == 0 || errno == EPERM;
}

enum thoroughness { LET_BE, CLOSE, DISARM };

/*
 * What git would not take is left as it is; but for what is one by its name: the host's git may make it
 * whole, and keep what is in it. Without a HEAD, too, git takes it as the common directory of another, whose
 * place is worktrees/.
 */
static enum thoroughness wanted_for(int directory, const char *path) {
    struct git_look look = git_look_of(directory);
    bool common = look.git && folder_has(directory, "worktrees");
    bool git = look.git;
    bool disarm =
        (look.git && look.head != GIT_HEAD_NONE) || common || git_is_directory_name(path, strlen(path), true);
    close_fd(&look.fd);
    return disarm ? DISARM : git ? CLOSE : LET_BE;
}

static void check(struct rules *rules, struct report *report, int directory, const char *index_path) {
    char path[PATH_MAX];
    struct stat facts;
    if (fstat(directory, &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_nlink == 0 ||
        is_on_read_only_mount(directory))
        return;
    /* What was moved to where it cannot be named any more is told by the name that it had. */
    if (!object_path(directory, path, sizeof path) || path[0] != '/')
        snprintf(path, sizeof path, "%s", index_path);
    enum thoroughness wanted = wanted_for(directory, path);
    struct finding finding = {.report = report, .directory = path};
    if ((wanted == DISARM && git_check_disarm(directory, tell, &finding) != 0) ||
        (wanted == CLOSE && git_check_close(directory, tell, &finding) != 0))
        return;
    uint64_t checked = stamp_checked(file_identity_hash(directory));
    set_stamp(rules, index_path, checked);
    if (strcmp(index_path, path) != 0)
        set_stamp(rules, path, checked);
}

/* What a run has left behind whose supervisor was killed. */
static void check_left(struct rules *rules, struct report *report, const char *path) {
    uint64_t stamp = stamp_of(rules, path);
    if ((stamp & STAMP_OPEN) == 0 || is_alive(stamp_supervisor(stamp)))
        return;
    cleanup_fd int fd = rules_open(rules, path, strlen(path));
    if (fd >= 0 && stamp_is_of(stamp, file_identity_hash(fd)))
        check(rules, report, fd, path);
}

void rules_finish(struct rules *rules, struct report *report) {
    size_t position = 0;
    enum index_kind kind;
    const char *path;
    size_t number;
    pthread_mutex_lock(&rules->lock);
    rules_sync(rules);
    for (size_t i = 0; i < rules->made_count; i++)
        if (!rules->made[i].is_file)
            check(rules, report, rules->made[i].fd, rules->made[i].path);
    while (session_index_next(rules->index, &position, &kind, &path, &number))
        if (kind == INDEX_MADE)
            check_left(rules, report, path);
    pthread_mutex_unlock(&rules->lock);
}
