/* What the session and its runs know of each other. */
#ifndef OS_SANDBOX_COMMAND_SESSION_INTERNAL_H
#define OS_SANDBOX_COMMAND_SESSION_INTERNAL_H

#include <uv.h>

#include "command/session.h"
#include "command/session_network.h"
#include "platform/glob_walk.h"
#include "platform/linux/agent_client.h"
#include "platform/linux/find_control_group.h"
#include "policy/path_memory.h"

enum session_state { SESSION_OPENING, SESSION_PROBING, SESSION_READY, SESSION_BROKEN, SESSION_DISPOSED };

struct session {
    uv_loop_t *loop;
    enum session_state state;
    char *helper;
    char *home;
    char *account_home; /* or NULL */
    char *tmpdir;
    char *search_path;

    struct path_memory *memory;
    struct glob_cache *globs;
    char *bwrap;
    struct bwrap_features features;
    struct agent_process agent;
    int null_fd; /* stdin of commands that get none */
    uv_poll_t socket_watch;
    uv_poll_t exit_watch;
    bool watching_socket;
    unsigned open_handles;

    uv_work_t opening;
    bool opening_now;
    struct error opening_error;
    bool has_namespaces; /* what the agent could make: the rows of the probe that need more are skipped */
    bool has_mounts;
    bool foreground;
    bool unprobed;  /* features are what the host may be able to do: no run has shown it */
    bool probed;    /* features are what every run gets */
    unsigned probe; /* index of the variant that is being tried */
    struct error probe_error;
    unsigned supervision;           /* as much of enum supervision as runs can have here */
    struct error supervision_error; /* why that is not all */

    struct cost_limits limits;            /* of each run */
    struct control_groups control_groups; /* where runs have cgroups; folder NULL: they have none */
    struct error control_group_error;     /* why, where they would be of use */

    struct session_network net;

    struct run *runs;
    uint64_t last_run;
    uint64_t ended;       /* runs that gave a result: their callers may have ended others meanwhile */
    bool sending_blocked; /* the agent's socket is full: writable is awaited */

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

/* The agent is ready: what runs get is found out, or with an unprobed session hoped for. */
void session_find_features(struct session *session);

/* There can be no sandbox here. */
void session_fail_start(struct session *session, const char *text);

/* Somebody waits, or nobody does any more. */
void session_hold_loop(struct session *session);

/* A run could not be sent because the socket is full. */
void session_await_writable(struct session *session);

#endif
