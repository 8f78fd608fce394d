/* What walks for patterns remember of folders. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_GLOB_MEMO_H
#define OS_SANDBOX_PLATFORM_LINUX_GLOB_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/glob.h"
#include "platform/glob_walk.h"

/* Of an entry that matches; else it is the state below a folder. */
#define MEMO_MATCHES 0xffffu

/* One folder, entered in one state: the entries of it that match, and the folders to go on in. */
struct folder_memo {
    struct folder_memo *next; /* in its bucket */
    uint64_t device;
    uint64_t inode;
    struct timespec modified;
    struct timespec changed;
    uint32_t walk;  /* the last one that came by */
    uint32_t users; /* who goes through the entries just now */
    uint16_t state;
    bool kept; /* the table owns it */
    size_t size;
    char entries[]; /* each a uint16_t: MEMO_MATCHES or a state, then the name and a NUL */
};

/* One pattern. Whoever has it locked may use it. */
struct pattern_memo;

/* The cache's entry for the pattern (a cache of its own for NULL), locked; NULL with errno: malformed
 * (EINVAL), or out of memory. */
struct pattern_memo *pattern_memo_take(struct glob_cache *cache, const char *pattern);

/* Ends a walk: unlocks, and drops what is not worth its memory. */
void pattern_memo_give(struct pattern_memo *memo);

const struct glob *pattern_memo_glob(const struct pattern_memo *memo);

/* The number of a state, and back. -1: too many of them. */
int pattern_memo_state(struct pattern_memo *memo, const unsigned char *state);
const unsigned char *pattern_memo_state_at(const struct pattern_memo *memo, uint16_t number);

/* What is remembered of the folder, where it has not changed; NULL: nothing. */
struct folder_memo *pattern_memo_find(struct pattern_memo *memo, const struct stat *facts, uint16_t state);

/*
 * A new one, the entries to be filled in. It is kept where there is room and nobody uses the old one, and
 * keep says so; NULL: out of memory. Each of these is to be released after use.
 */
struct folder_memo *pattern_memo_add(struct pattern_memo *memo, const struct stat *facts, uint16_t state,
                                     const char *entries, size_t size, bool keep);
void folder_memo_release(struct folder_memo *folder);

#endif
