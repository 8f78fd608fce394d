/*
 * What a session's processes know together: a block of memory that the agent makes at its start and that
 * supervisors and the indexer inherit. Entries are only ever added, each by one atomic step, so that a
 * process which is killed in the middle leaves nothing half done for others.
 */
#ifndef OS_SANDBOX_EXEC_SESSION_INDEX_H
#define OS_SANDBOX_EXEC_SESSION_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_index; /* shared memory */

enum index_kind {
    INDEX_HOOKS =
        1, /* a folder from which the host's git runs hooks: named by core.hooksPath, or a link's target */
    INDEX_MADE = 2,     /* a git directory that a command of this session made */
    INDEX_UNLINKED = 3, /* a folder from which a command took a .git file that it had not made */
};

/* NULL with errno. Anonymous shared memory (mmap(2)), reserved, not touched: what is not used costs nothing.
 */
struct session_index *session_index_new(void);

/* This process' view of it; others keep theirs. */
void session_index_free(struct session_index *index);

/* Adds a real path once; what is there already is not added again. 0, or -1: full (each kind has its own
 * room). */
int session_index_add(struct session_index *index, enum index_kind kind, const char *path);

/* The entry at *position, which then moves on (0 at first). False: there is no more by now. Also says the
 * entry's number, for session_index_stamp. */
bool session_index_next(const struct session_index *index, size_t *position, enum index_kind *kind,
                        const char **path, size_t *number);

/* A number that belongs to an entry, 0 at first: what it looked like when it was last checked. */
uint64_t session_index_stamp(const struct session_index *index, size_t number);
void session_index_set_stamp(struct session_index *index, size_t number, uint64_t stamp);

/*
 * Moves of folders: a name that was judged at one place may be made at another when a folder is moved
 * meanwhile. A mover says so before and after; who makes a name compares the count from before it judged
 * with the one after it made the name, and where they differ judges again. While a move is going on the
 * count is odd and each answer differs from all others.
 */
uint64_t session_index_moves(struct session_index *index);
void session_index_move_begins(struct session_index *index);
void session_index_move_ended(struct session_index *index);

#endif
