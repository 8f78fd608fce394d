/*
 * The indexer: looks through write roots in the background for what only files on disk can tell, which
 * folders the host's git runs hooks from. It belongs to the agent, which never waits for it: one child at a
 * time walks one root at a time, at the lowest priority.
 */
#ifndef OS_SANDBOX_EXEC_INDEX_SCAN_H
#define OS_SANDBOX_EXEC_INDEX_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/payload.h"
#include "exec/session_index.h"

struct index_scan;

/* What is found is added to the index, which must outlive the scan. NULL: out of memory. */
struct index_scan *index_scan_new(struct session_index *index);

/*
 * A run may write below the root (real, on the device as st_dev). It is scanned unless another root covers
 * it, and again at the earliest a minute after its last scan ended. home: what "~" means to git there; NULL:
 * not known.
 */
void index_scan_want(struct index_scan *scan, const char *root, uint64_t device, const char *home);

/* Wants every write root of a run, with the HOME of its environment: to be called once it was started. */
void index_roots_wanted(struct index_scan *scan, const struct payload *payload);

/* True for the pid of the scan's child. */
bool index_scan_owns(const struct index_scan *scan, pid_t pid);

/* The child was reaped: the next root's turn. */
void index_scan_reaped(struct index_scan *scan, pid_t pid);

/* True while something is being scanned. */
bool index_scan_busy(const struct index_scan *scan);

/* Kills the child, which is still to be reaped, and frees the scan. NULL is fine. The child; 0: there is
 * none. */
pid_t index_scan_stop(struct index_scan *scan);

#endif
