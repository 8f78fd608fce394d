/*
 * What must stay mounted in one run whatever the host does to the files: its masks and read-only mounts, and
 * masks for what denied paths lead to that did not exist, or led elsewhere, when it was planned.
 */
#ifndef OS_SANDBOX_EXEC_KEPT_H
#define OS_SANDBOX_EXEC_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "exec/payload.h"
#include "exec/watch.h"

struct kept;

/*
 * Of a run's payload (a memfd, which can be closed), whose paths are watched from now on: to be called before
 * anything is mounted. Without a watch (NULL) nothing is ever due. NULL with errno: EPROTO where the payload
 * cannot be decoded.
 */
struct kept *kept_new(struct watch *watch, int payload);
void kept_free(struct kept *kept);

const struct payload *kept_payload(const struct kept *kept);

/* To be called after each watch_hear that found something: changed paths become due. */
void kept_hear(struct kept *kept);

/* Whether something is due: to be restored as soon as the run has its mounts. */
bool kept_is_due(const struct kept *kept);

/* Forks a child that mounts what is due again, as remount_fork does; nothing is due then. Its pid, or -1 with
 * errno. One at a time. */
pid_t kept_restore(struct kept *kept, pid_t stage, int stage_pidfd);

/* What the last child said when it ended with an error; "" where it had no time to. */
const char *kept_why(const struct kept *kept);

#endif
