/* What the parts of rules.h share. */
#ifndef OS_SANDBOX_EXEC_RULES_INTERNAL_H
#define OS_SANDBOX_EXEC_RULES_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "exec/git_check.h"
#include "exec/path_set.h"
#include "exec/rules.h"

#define WHY_HOOKS "protected: git hooks"
#define WHY_CONFIG "protected: git configuration, see allowGitConfig"
#define WHY_LINK "protected: git directory's links"
#define WHY_DIRECTORY "protected: git directory"
#define WHY_DOT_GIT "protected: a .git file is not re-pointed"
#define WHY_HOOKS_PATH "protected: git hooks (core.hooksPath)"
#define WHY_MEMORY "out of memory"

/* Git directories, and files named .git, that this run made or finished. Descriptors keep an inode's number
 * from being another's, and lead there wherever it goes. */
#define MADE_MAX 8192

struct made {
    char *path; /* when it was made */
    int fd;     /* O_PATH */
    dev_t device;
    ino_t inode;
    bool writable; /* its configuration may be written in this run */
    bool is_file;  /* .git */
};

/*
 * A name that a thread has judged and not made yet: what could be seen only before. One that is never made is
 * forgotten.
 */
struct pending {
    pthread_t thread;
    unsigned long number; /* the later the higher; 0: free */
    time_t since;
    int folder; /* O_PATH; owned */
    dev_t device;
    ino_t inode;
    char *path;
    bool absent;    /* there was nothing of that name */
    bool completes; /* its folder was no git directory */
};

/* The most names that one call judges: two, each in two spellings. */
#define PENDING_OF_THREAD 4

struct rules {
    const struct payload *payload;
    int root;
    struct session_index *index;
    bool owns_index;
    size_t *prefixes; /* for each of the payload's rules: the length of the folder that a glob begins with */
    char **folded;    /* and how a literal reads where names compare without case */
    bool has_globs;
    _Atomic size_t position; /* in the index: what is in the sets */
    atomic_bool has_hooks;

    pthread_mutex_t lock; /* for what follows */
    struct path_set hooks;
    struct path_set hooks_folded;
    char **texts; /* owned ones in the sets */
    size_t text_count;
    struct path_set made_before; /* by the session: the index's numbers */
    struct made *made;
    size_t made_count;
    size_t made_size;
    size_t made_max;
    struct pending *pending;
    size_t pending_count;
    unsigned long pending_number;
};

/* A folder, looked at. */
struct git_look {
    int fd;      /* O_PATH; owned; -1: it cannot be looked at, and then it counts as a git directory */
    bool git;    /* by what is in it; with a HEAD git would take it */
    bool unseen; /* something in it could not be looked at, and counts as there */
    enum git_head head;
    dev_t device;
    ino_t inode;
};

/* --- rules_case.c: file systems that compare names without case --- */

/*
 * The path as it reads when every component which lies in such a folder is folded (policy/name_fold.h).
 * False: there is none. Touches the file system.
 */
bool rules_fold(const struct rules *rules, const char *path, char *into, size_t size);

/* --- rules_look.c --- */

/* O_PATH of what a path's first bytes lead to, no symlink followed on the way or at the end. Or -errno. */
int rules_open(const struct rules *rules, const char *path, size_t length);

/* A number for what is open, other than that of a later one with the same inode's number, where its file
 * system knows when it was made. 0: not to be had. */
uint64_t file_identity_hash(int fd);

/* Whether the folder has an entry; what cannot be told counts as true. */
bool folder_has(int folder, const char *path);

struct git_look git_look_at(const struct rules *rules, const char *path, size_t length);
struct git_look git_look_of(int folder); /* takes a copy */

/* Whether something in the folder of hooks would be run by git; what cannot be listed counts as true. */
bool has_active_hooks(int folder);

/* --- rules_made.c: what the session made; all with the lock held --- */

/* Takes over what is new in the index. False: out of memory. */
bool rules_sync(struct rules *rules);
bool rules_is_stale(struct rules *rules); /* without the lock */

/* NULL where this run did not make it. */
struct made *made_find(const struct rules *rules, dev_t device, ino_t inode);
bool made_by_session(const struct rules *rules, const char *path, size_t length, const struct git_look *look);
/* False: this run has made as many as it can keep in mind. */
bool made_has_room(struct rules *rules);
/* What is made already only becomes writable. False: there is no room, or no descriptor. */
bool made_add(struct rules *rules, const char *path, int fd, bool writable, bool is_file);
/* A folder went from `from` to `to`: what the session made in it is looked at again, with what is around it.
 */
void made_move(struct rules *rules, const char *from, const char *to);

/* Folders that lost a .git file which no command made: known by what they are, wherever they go. */
void unlinked_add(struct rules *rules, const char *folder, int fd);
bool unlinked_has(const struct rules *rules, int fd);

/* --- rules_pending.c; with the lock held --- */

/* Of the calling thread. False: no room, or no descriptor: the name must not be made. */
bool pending_put(struct rules *rules, const char *path, const struct git_look *look, bool absent,
                 bool completes);
/* Whether the thread has judged the name in that folder before, when there was nothing. */
bool pending_has(const struct rules *rules, const char *path, const struct git_look *look);
/* The folder is the caller's then, and the path NULL. */
bool pending_take(struct rules *rules, const char *path, struct pending *out);
void pending_free(struct rules *rules);

/* --- rules_git.c; without the lock --- */

/* fold: the path is one of rules_fold's. */
const char *git_refuse(struct rules *rules, enum rule_act act, const char *path, bool fold);
const char *git_refuse_move(struct rules *rules, int folder, const char *from, const char *to, bool fold);
void git_note(struct rules *rules, const char *path, bool fold);
void git_note_move(struct rules *rules, const char *from, const char *to, bool fold);

/* --- rules_move.c --- */

/* Folders of hooks that are not there yet follow the one they would be in. False: no room. */
bool hooks_follow(struct rules *rules, const char *from, const char *to);
const char *literals_refuse_move(struct rules *rules, int folder, const char *from, const char *to);
const char *globs_refuse_move(const struct rules *rules, int folder, const char *from, const char *to);

/* --- rules.c --- */

/* The payload's globs. */
const char *globs_refuse(const struct rules *rules, enum rule_act act, const char *path);

#endif
