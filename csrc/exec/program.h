/* Starting the command itself: everything that happens between fork and exec. */
#ifndef OS_SANDBOX_EXEC_PROGRAM_H
#define OS_SANDBOX_EXEC_PROGRAM_H

#include <sys/types.h>

#include "exec/group_signals.h"
#include "exec/payload.h"

enum program_failure {
    PROGRAM_STARTED = 0,
    PROGRAM_NO_CWD,
    PROGRAM_NO_LIMIT,
    PROGRAM_NO_EXEC,
    PROGRAM_NO_FORK
};

struct program_result {
    pid_t pid; /* -1 where it did not start */
    enum program_failure failure;
    int errnum;
};

/*
 * Starts argv with exactly envp, in cwd, with the planned umask, limits and niceness, default signal
 * dispositions and an empty mask, on descriptors 0 to 2 of the caller and no others. argv[0] without a slash
 * is looked up in envp's PATH. It leads a session and a process group of its own; or with group_signals it
 * stays in the caller's, and what was sent to that before is sent to it. Returns after exec: the process
 * group exists and a signal to it reaches the program.
 */
struct program_result program_start(const struct payload *payload, const struct group_signals *group_signals);

#endif
