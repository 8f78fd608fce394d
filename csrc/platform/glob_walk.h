/*
 * What a pattern matches on disk, found again before each run without walking the tree anew: of a folder that
 * did not change since, what matters of its listing is remembered. Made for a thread of the pool.
 */
#ifndef OS_SANDBOX_PLATFORM_GLOB_WALK_H
#define OS_SANDBOX_PLATFORM_GLOB_WALK_H

#include "base/error.h"
#include "base/strvec.h"

struct glob_cache; /* thread-safe */

/* NULL: out of memory. */
struct glob_cache *glob_cache_new(void);

/* No walk may be going on. NULL is fine. */
void glob_cache_free(struct glob_cache *cache);

/*
 * Appends the real paths of what the absolute, normal pattern (base/glob.h) matches now, in the order of
 * path_compare. Symlinks in the folders before the pattern's first special character are followed, others are
 * not: one that matches is itself found. What lies below a match is not looked for, nor is anything in /proc,
 * /sys and /dev, or in another user's folder that may not be read. An own one that may not be read is found
 * as a whole where something in it could match: whoever runs as this user can open it. cache: may be NULL. 0,
 * or -1: more than 5,000 matches, too large a tree (5 million entries), or no memory or descriptors.
 */
int glob_walk_find(struct glob_cache *cache, const char *pattern, struct strvec *found, struct error *err);

#endif
