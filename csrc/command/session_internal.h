/* What the session and its runs know of each other. */
#ifndef OS_SANDBOX_COMMAND_SESSION_INTERNAL_H
#define OS_SANDBOX_COMMAND_SESSION_INTERNAL_H

#include <uv.h>

#include "command/session.h"
#include "command/session_network.h"
#include "platform/backend.h"

enum session_state { SESSION_OPENING, SESSION_PROBING, SESSION_READY, SESSION_BROKEN, SESSION_DISPOSED };

struct session {
    uv_loop_t *loop;
    enum session_state state;
    char *tmpdir;

    struct path_memory *memory;
    struct glob_cache *globs;
    struct backend *backend;
    unsigned open_handles; /* but for the backend's */

    uv_work_t opening;
    bool opening_now;
    struct error opening_error;
    bool unprobed; /* the rung is what the host may be able to do: no run has shown it */
    bool probed;   /* the rung is what every run gets */
    unsigned rung; /* of the backend's ladder, that is being tried */
    struct error probe_error;

    struct session_network net;

    struct run *runs;
    uint64_t last_run;
    uint64_t ended; /* runs that gave a result: their callers may have ended others meanwhile */

    session_started_fn started;
    void *started_data;
    session_disposed_fn disposed;
    void *disposed_data;
};

/* A run has closed everything and is about to be freed. */
void session_forget(struct session *session, struct run *run);

/* Why nothing can be started any more, NULL where that is not so. */
const char *session_failure(const struct session *session);

/* Probe or network have come to their end: when both have, the start is reported. */
void session_settle_start(struct session *session);

/* Something is gone that dispose waits for: when all is, its end is reported, and the session is freed. */
void session_settle_dispose(struct session *session);

/* The backend is ready: what runs get is found out, or with an unprobed session hoped for. */
void session_find_features(struct session *session);

/* There can be no sandbox here. */
void session_fail_start(struct session *session, const char *text);

/* Somebody waits, or nobody does any more. */
void session_hold_loop(struct session *session);

#endif
