/* Git directories that the session made: those of this run by identity, all of them by the index. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/rules_internal.h"
#include "exec/rules_stamp.h"
#include "policy/name_fold.h"

/* --- the index --- */

static bool add_text(struct rules *rules, struct path_set *set, const char *text) {
    char *own = strdup(text);
    char **texts = reallocarray(rules->texts, rules->text_count + 1, sizeof *texts);
    if (texts != NULL)
        rules->texts = texts;
    if (own == NULL || texts == NULL) {
        free(own);
        return false;
    }
    texts[rules->text_count++] = own;
    return path_set_add(set, own, 0);
}

/* A folder of hooks, in every spelling. */
static bool add_hooks(struct rules *rules, const char *path) {
    char folded[PATH_MAX];
    atomic_store(&rules->has_hooks, true);
    if (!path_set_add(&rules->hooks, path, 0))
        return false;
    if (!path_fold(path, folded, sizeof folded))
        return path_set_add(&rules->hooks_folded, path, 0);
    if (!add_text(rules, &rules->hooks_folded, folded))
        return false;
    return !rules_fold(rules, path, folded, sizeof folded) || add_text(rules, &rules->hooks, folded);
}

bool rules_is_stale(struct rules *rules) {
    size_t position = atomic_load(&rules->position);
    enum index_kind kind;
    const char *path;
    size_t number;
    return session_index_next(rules->index, &position, &kind, &path, &number);
}

bool rules_sync(struct rules *rules) {
    size_t position = atomic_load(&rules->position);
    enum index_kind kind;
    const char *path;
    size_t number;
    while (session_index_next(rules->index, &position, &kind, &path, &number)) {
        if (kind == INDEX_HOOKS && !add_hooks(rules, path))
            return false;
        if (kind == INDEX_MADE && !path_set_add(&rules->made_before, path, number))
            return false;
        atomic_store(&rules->position, position);
    }
    return true;
}

/* --- what was made --- */

struct made *made_find(const struct rules *rules, dev_t device, ino_t inode) {
    for (size_t i = rules->made_count; i-- > 0;) {
        struct made *made = &rules->made[i];
        if (made->inode == inode && made->device == device)
            return made;
    }
    return NULL;
}

bool made_by_session(const struct rules *rules, const char *path, size_t length,
                     const struct git_look *look) {
    size_t number;
    if (look->fd < 0)
        return false;
    if (made_find(rules, look->device, look->inode) != NULL)
        return true;
    if (!path_set_find(&rules->made_before, path, length, &number))
        return false;
    uint64_t stamp = session_index_stamp(rules->index, number);
    return stamp != 0 && stamp_is_of(stamp, file_identity_hash(look->fd));
}

/* What was removed needs no look. */
static void forget_removed(struct rules *rules) {
    size_t kept = 0;
    for (size_t i = 0; i < rules->made_count; i++) {
        struct made *made = &rules->made[i];
        struct stat facts;
        if (fstat(made->fd, &facts) != 0 || facts.st_nlink > 0) {
            rules->made[kept++] = *made;
            continue;
        }
        close_fd(&made->fd);
        free(made->path);
    }
    rules->made_count = kept;
}

bool made_has_room(struct rules *rules) {
    if (rules->made_count >= rules->made_max)
        forget_removed(rules);
    return rules->made_count < rules->made_max;
}

static struct made *new_made(struct rules *rules) {
    if (rules->made_count == rules->made_size) {
        size_t size = rules->made_size == 0 ? 16 : 2 * rules->made_size;
        struct made *larger = reallocarray(rules->made, size, sizeof *larger);
        if (larger == NULL)
            return NULL;
        rules->made = larger;
        rules->made_size = size;
    }
    return &rules->made[rules->made_count];
}

/* Puts it into the index: another run looks after it where this one's supervisor is killed. */
static void publish(struct rules *rules, const char *path, uint64_t stamp) {
    size_t number;
    if (session_index_add(rules->index, INDEX_MADE, path) == 0 && rules_sync(rules) &&
        path_set_find(&rules->made_before, path, strlen(path), &number))
        session_index_set_stamp(rules->index, number, stamp);
}

bool made_add(struct rules *rules, const char *path, int fd, bool writable, bool is_file) {
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return false;
    struct made *made = made_find(rules, facts.st_dev, facts.st_ino);
    if (made != NULL) {
        made->writable = made->writable || writable;
        return true;
    }
    made = made_has_room(rules) ? new_made(rules) : NULL;
    cleanup_fd int own_fd = made == NULL ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    char *own = own_fd < 0 ? NULL : strdup(path);
    if (own == NULL)
        return false;
    *made = (struct made){.path = own,
                          .fd = steal_fd(&own_fd),
                          .device = facts.st_dev,
                          .inode = facts.st_ino,
                          .writable = writable,
                          .is_file = is_file};
    rules->made_count++;
    if (!is_file)
        publish(rules, path, stamp_open(getpid(), file_identity_hash(fd)));
    return true;
}

void made_move(struct rules *rules, const char *from, const char *to) {
    size_t position = 0;
    enum index_kind kind;
    const char *path;
    size_t number;
    while (session_index_next(rules->index, &position, &kind, &path, &number)) {
        char *moved = NULL;
        uint64_t stamp = kind == INDEX_MADE ? session_index_stamp(rules->index, number) : 0;
        if (stamp == 0 || !path_is_within(path, from) ||
            asprintf(&moved, "%s%s", to, path + strlen(from)) < 0)
            continue;
        cleanup_fd int fd = rules_open(rules, moved, strlen(moved));
        uint64_t identity = fd < 0 ? 0 : file_identity_hash(fd);
        if (fd >= 0 && stamp_is_of(stamp, identity)) {
            made_add(rules, moved, fd, false, false);
            publish(rules, moved, stamp_open(getpid(), identity));
        }
        free(moved);
    }
}

/* --- folders that lost their .git file --- */

void unlinked_add(struct rules *rules, const char *folder, int fd) {
    size_t position = 0;
    enum index_kind kind;
    const char *path;
    size_t number;
    session_index_add(rules->index, INDEX_UNLINKED, folder);
    while (session_index_next(rules->index, &position, &kind, &path, &number))
        if (kind == INDEX_UNLINKED && strcmp(path, folder) == 0)
            session_index_set_stamp(rules->index, number, stamp_checked(file_identity_hash(fd)));
}

bool unlinked_has(const struct rules *rules, int fd) {
    size_t position = 0;
    enum index_kind kind;
    const char *path;
    size_t number;
    uint64_t identity = file_identity_hash(fd);
    while (session_index_next(rules->index, &position, &kind, &path, &number)) {
        uint64_t stamp = kind == INDEX_UNLINKED ? session_index_stamp(rules->index, number) : 0;
        if (stamp != 0 && stamp_is_of(stamp, identity))
            return true;
    }
    return false;
}
