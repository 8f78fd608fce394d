/*
 * Git directories. What is one is told by its name or by what is in it; one that a command makes becomes one
 * in a single step, by a name that the supervisor makes, and belongs to the run from there on.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "exec/git_check.h"
#include "exec/rules_internal.h"
#include "policy/protected_names.h"

#define WHY_MANY "too many git directories are made"
#define WHY_UNSEEN "a folder that cannot be looked at"

static bool makes_name(enum rule_act act) {
    return act == RULE_CREATE || act == RULE_SYMLINK;
}

static const char *last_of(const char *path) {
    return strrchr(path, '/') + 1;
}

static size_t folder_length(const char *path) {
    return (size_t)(last_of(path) - 1 - path);
}

/* A name with which a folder can become a whole git directory. */
static bool may_complete(const char *name, bool fold) {
    static const char *const names[] = {"HEAD", "objects", "refs", "commondir"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((fold ? strcasecmp : strcmp)(name, names[i]) == 0)
            return true;
    return false;
}

/* --- parts --- */

static const char *why_of(enum git_part part) {
    switch (part) {
    case GIT_PART_HOOKS:
        return WHY_HOOKS;
    case GIT_PART_CONFIG:
        return WHY_CONFIG;
    case GIT_PART_LINK:
        return WHY_LINK;
    }
    return WHY_DIRECTORY;
}

/* In a directory that is a git directory. */
static bool may_change(const struct rules *rules, enum rule_act act, const char *path,
                       const struct git_candidate *part, const struct git_look *look, bool fold) {
    /* git worktree remove */
    if (act == RULE_REMOVE)
        return git_is_worktree_name(path, part->directory, fold) ||
               made_by_session(rules, path, part->directory, look);
    const struct made *made = look->fd < 0 ? NULL : made_find(rules, look->device, look->inode);
    if (made == NULL || !made->writable)
        return false;
    return part->part != GIT_PART_HOOKS || part->whole || git_check_is_inactive_hook(last_of(path));
}

static const char *part_refuse(struct rules *rules, enum rule_act act, const char *path,
                               const struct git_candidate *part, bool fold) {
    if (part->part == GIT_PART_CONFIG && rules->payload->allow_git_config != 0)
        return NULL;
    struct git_look look = git_look_at(rules, path, part->directory);
    bool allowed = !part->is_directory && !look.git;
    if (!allowed) {
        pthread_mutex_lock(&rules->lock);
        allowed = may_change(rules, act, path, part, &look, fold);
        pthread_mutex_unlock(&rules->lock);
    }
    close_fd(&look.fd);
    return allowed ? NULL : why_of(part->part);
}

/* --- .git itself, and names that make a git directory --- */

enum presence { ABSENT, FOLDER, OTHER };

/* What cannot be told is something else. */
static enum presence presence_of(const struct rules *rules, const char *path, struct stat *facts) {
    cleanup_fd int folder = rules_open(rules, path, folder_length(path));
    *facts = (struct stat){0};
    if (folder < 0)
        return OTHER;
    if (fstatat(folder, last_of(path), facts, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ABSENT : OTHER;
    return S_ISDIR(facts->st_mode) ? FOLDER : OTHER;
}

/*
 * A file, or a symlink, of the name .git may come and go, as worktrees and submodules do, but what is there
 * stays as it is, and in a folder that lost one comes no other: that would lead git elsewhere.
 */
static const char *dot_git_refuse(struct rules *rules, enum rule_act act, const char *path,
                                  enum presence presence, const struct stat *facts,
                                  const struct git_look *look) {
    bool known = presence == OTHER && made_find(rules, facts->st_dev, facts->st_ino) != NULL;
    if (act == RULE_REMOVE) {
        char above[PATH_MAX];
        if (presence == OTHER && !known && look->fd >= 0) {
            snprintf(above, sizeof above, "%.*s", (int)folder_length(path), path);
            unlinked_add(rules, above, look->fd);
        }
        return NULL;
    }
    if (makes_name(act) && presence == ABSENT && unlinked_has(rules, look->fd))
        return WHY_DOT_GIT;
    if (presence != OTHER || known || (makes_name(act) && pending_has(rules, path, look)))
        return NULL;
    return WHY_DOT_GIT;
}

/* The folder of the path is the run's; the look is at it. */
static bool take_folder(struct rules *rules, const char *path, const struct git_look *look, bool writable) {
    char folder[PATH_MAX];
    size_t length = folder_length(path);
    if (length >= sizeof folder)
        return false;
    memcpy(folder, path, length);
    folder[length] = '\0';
    return made_add(rules, length == 0 ? "/" : folder, look->fd, writable, false);
}

/*
 * HEAD, objects, refs, commondir. One of the host's has to remain a git directory that can be told, and what
 * is none for want of a HEAD, and may be the host's, does not get one. One that an earlier run made is this
 * run's to be looked at as soon as it is not whole.
 */
static const char *completing_refuse(struct rules *rules, enum rule_act act, const char *path,
                                     const struct git_look *look, bool fold) {
    size_t length = folder_length(path);
    bool is_whole = look->head == GIT_HEAD_VALID;
    if (!look->git || (act == RULE_CREATE && is_whole) || made_find(rules, look->device, look->inode) != NULL)
        return NULL;
    if (!made_by_session(rules, path, length, look))
        return git_is_worktree_name(path, length, fold) || (act != RULE_REMOVE && is_whole) ? NULL
                                                                                            : WHY_DIRECTORY;
    return take_folder(rules, path, look, false) ? NULL : WHY_MANY;
}

static const char *judge_name(struct rules *rules, enum rule_act act, const char *path,
                              const struct git_look *look, bool fold) {
    struct stat facts;
    enum presence presence = presence_of(rules, path, &facts);
    const char *why = NULL;
    bool completes = may_complete(last_of(path), fold);
    if (git_is_dot_git(path, fold))
        why = dot_git_refuse(rules, act, path, presence, &facts, look);
    if (why == NULL && completes)
        why = completing_refuse(rules, act, path, look, fold);
    if (why != NULL || !makes_name(act))
        return why;
    bool absent = presence == ABSENT || pending_has(rules, path, look);
    bool fits = made_has_room(rules) && pending_put(rules, path, look, absent, completes && !look->git);
    return fits ? NULL : WHY_MANY;
}

static const char *name_refuse(struct rules *rules, enum rule_act act, const char *path, bool fold) {
    if (makes_name(act) && git_check_is_own_name(last_of(path)))
        return WHY_DIRECTORY;
    if (!git_is_directory_name(path, strlen(path), fold) && !may_complete(last_of(path), fold))
        return NULL;
    struct git_look look = git_look_at(rules, path, folder_length(path));
    /* What is in a folder that a command closed, or has moved meanwhile, cannot be told. */
    if (look.unseen) {
        close_fd(&look.fd);
        return WHY_UNSEEN;
    }
    pthread_mutex_lock(&rules->lock);
    const char *why = judge_name(rules, act, path, &look, fold);
    pthread_mutex_unlock(&rules->lock);
    close_fd(&look.fd);
    return why;
}

const char *git_refuse(struct rules *rules, enum rule_act act, const char *path, bool fold) {
    struct git_candidate part;
    size_t at = 0;
    while (git_candidate_next(path, fold, &at, &part)) {
        const char *why = part_refuse(rules, act, path, &part, fold);
        if (why != NULL)
            return why;
    }
    return name_refuse(rules, act, path, fold);
}

/* --- what was made --- */

/* In submodules' git directories; each has them, and none of them is one. */
static bool is_plain_folder(const char *name) {
    return strcmp(name, "hooks") == 0 || strcmp(name, "info") == 0 || strcmp(name, "branches") == 0;
}

/* A folder, or a file, is there by a git directory's name. One of the host's stays the host's. */
static void take_named(struct rules *rules, const char *path, int fd) {
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0)
        return;
    if (!S_ISDIR(facts.st_mode)) {
        if (git_is_dot_git(path, true))
            made_add(rules, path, fd, true, true);
        return;
    }
    struct git_look look = git_look_of(fd);
    if (!look.git)
        made_add(rules, path, fd, true, false);
    else if (made_by_session(rules, path, strlen(path), &look))
        made_add(rules, path, fd, false, false);
    close_fd(&look.fd);
}

static void take_named_at(struct rules *rules, const char *path, int folder) {
    cleanup_fd int fd = openat(folder, last_of(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    take_named(rules, path, fd);
}

/* One that git would not take yet is the run's from where it counts as one: its parts come in any order. */
static void take_completed(struct rules *rules, const char *path, int folder, bool fold) {
    struct git_look look = git_look_of(folder);
    bool foreign = git_is_directory_name(path, folder_length(path), fold);
    if (look.fd >= 0 && look.git)
        take_folder(rules, path, &look, !foreign);
    close_fd(&look.fd);
}

void git_note(struct rules *rules, const char *path, bool fold) {
    bool is_name = git_is_directory_name(path, strlen(path), fold) && !is_plain_folder(last_of(path));
    struct pending pending;
    if (!is_name && !may_complete(last_of(path), fold))
        return;
    pthread_mutex_lock(&rules->lock);
    if (pending_take(rules, path, &pending)) {
        if (is_name && pending.absent)
            take_named_at(rules, path, pending.folder);
        if (pending.completes)
            take_completed(rules, path, pending.folder, fold);
        close_fd(&pending.folder);
    }
    pthread_mutex_unlock(&rules->lock);
}

/* --- moves --- */

static const char *parts_refuse(const struct rules *rules, int folder) {
    static const struct {
        const char *name;
        enum git_part part;
    } parts[] = {{"hooks", GIT_PART_HOOKS},
                 {"config", GIT_PART_CONFIG},
                 {"config.worktree", GIT_PART_CONFIG},
                 {"commondir", GIT_PART_LINK},
                 {"gitdir", GIT_PART_LINK}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        bool freed = parts[i].part == GIT_PART_CONFIG && rules->payload->allow_git_config != 0;
        if (!freed && folder_has(folder, parts[i].name))
            return why_of(parts[i].part);
    }
    return NULL;
}

/* Where other git directories are found by their names: modules, worktrees. */
static bool is_store_name(const char *path, bool fold) {
    const char *name = last_of(path);
    int (*compare)(const char *, const char *) = fold ? strcasecmp : strcmp;
    return compare(name, "modules") == 0 || compare(name, "worktrees") == 0;
}

/* A git directory that this run did not make keeps its store. */
static bool is_foreign_store(const struct rules *rules, const char *path, bool fold) {
    if (!is_store_name(path, fold))
        return false;
    size_t length = folder_length(path);
    struct git_look above = git_look_at(rules, path, length);
    bool foreign = (above.git || git_is_directory_name(path, length, fold)) &&
                   (above.fd < 0 || made_find(rules, above.device, above.inode) == NULL);
    close_fd(&above.fd);
    return foreign;
}

static const char *old_name_refuse(const struct rules *rules, int folder, const struct git_look *look,
                                   const char *from, bool fold) {
    if (is_foreign_store(rules, from, fold))
        return WHY_DIRECTORY;
    if (!look->git && !git_is_directory_name(from, strlen(from), fold))
        return NULL;
    return made_by_session(rules, from, strlen(from), look) ? NULL : parts_refuse(rules, folder);
}

static const char *new_name_refuse(const struct rules *rules, int folder, const char *to, bool fold) {
    struct git_candidate part;
    size_t at = 0;
    if (is_foreign_store(rules, to, fold))
        return WHY_DIRECTORY;
    while (git_candidate_next(to, fold, &at, &part))
        if (part.part == GIT_PART_HOOKS && part.whole) {
            struct git_look look = git_look_at(rules, to, part.directory);
            bool git = part.is_directory || look.git;
            close_fd(&look.fd);
            if (git && has_active_hooks(folder))
                return WHY_HOOKS;
        }
    if (!git_is_directory_name(to, strlen(to), fold) || !folder_has(folder, "hooks"))
        return NULL;
    cleanup_fd int hooks = openat(folder, "hooks", O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    return hooks < 0 || has_active_hooks(hooks) ? WHY_HOOKS : NULL;
}

const char *git_refuse_move(struct rules *rules, int folder, const char *from, const char *to, bool fold) {
    struct git_look look = git_look_of(folder);
    pthread_mutex_lock(&rules->lock);
    const char *why = old_name_refuse(rules, folder, &look, from, fold);
    if (why == NULL)
        why = new_name_refuse(rules, folder, to, fold);
    pthread_mutex_unlock(&rules->lock);
    close_fd(&look.fd);
    return why;
}

static void take_moved(struct rules *rules, const char *path) {
    cleanup_fd int fd = rules_open(rules, path, strlen(path));
    take_named(rules, path, fd);
}

void git_note_move(struct rules *rules, const char *from, const char *to, bool fold) {
    pthread_mutex_lock(&rules->lock);
    made_move(rules, from, to);
    if (git_is_directory_name(to, strlen(to), fold) && !is_plain_folder(last_of(to)))
        take_moved(rules, to);
    pthread_mutex_unlock(&rules->lock);
}
