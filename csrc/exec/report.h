/*
 * What was refused, as lines of JSON in the run's event pipe: one for each operation and path, the number of
 * repetitions at the end. Thread-safe; nobody waits for the reader: what does not fit is counted.
 *
 *   {"type":"violation","id":0,"operation":"file-write-create","path":"/etc/x","why":"…","pid":7,"process":"sh","time":…}
 *   {"type":"violation","id":1,"operation":"network-outbound","host":"192.0.2.1","port":443,"why":"…",…}
 *   {"type":"counts","counts":[[0,3],[1,12]]}      the ids that happened more than once, at the end
 *   {"type":"dropped","count":5}                   refusals that are in no line, at the end
 *
 * time: milliseconds since the epoch. pid: the process, as the host sees it. Bytes that are not UTF-8 are
 * written as \xHH (in JSON "\\xHH").
 */
#ifndef OS_SANDBOX_EXEC_REPORT_H
#define OS_SANDBOX_EXEC_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "exec/supervised.h"

struct denial {
    const char *operation; /* Seatbelt's name: file-write-create, network-outbound, … */
    const char *path;      /* absolute and real, or NULL */
    const char *host;      /* an address without brackets, or NULL */
    uint16_t port;
    const char *why; /* NULL: what the payload's reasons say of the path, else "outside the write roots" */
};

/* events: the pipe's write end, non-blocking, for a process that ignores SIGPIPE. NULL: out of memory. */
struct report *report_new(int events, const struct payload *payload);

/* A refusal of the call's process. Nothing with SUPERVISE_QUIETLY. */
void report_denial(struct report *report, const struct call *call, const struct denial *denial);

/* The call's process came to a limit of the run's cost: told where the run has that limit. path: of what
 * file, or NULL. */
void report_limit(struct report *report, const struct call *call, enum cost_limit limit, const char *path);

/* What was taken out at the end of the run, when nobody is left who made it: told as the supervisor's own.
 * Nothing with SUPERVISE_QUIETLY. */
void report_found(struct report *report, const char *path, const char *operation, const char *why);

/* Writes what is queued, as far as the pipe takes it. True: there is more, poll(2) events for POLLOUT. */
bool report_flush(struct report *report);

/* Where report_flush has something to write: to be polled for reading; cleared by report_flush. */
int report_wake_fd(const struct report *report);

/* The end of the run: counts and drops are queued, and no refusal after that. */
void report_finish(struct report *report);

/* The pipe stays the caller's. */
void report_free(struct report *report);

#endif
