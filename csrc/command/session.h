/*
 * A session: what one OsSandbox is in C. Starts the backend, finds out what the host can do, starts and stops
 * runs, keeps their network, all on one libuv loop. Knows nothing of JavaScript. Every function is to be
 * called on the loop's thread.
 */
#ifndef OS_SANDBOX_COMMAND_SESSION_H
#define OS_SANDBOX_COMMAND_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/strvec.h"
#include "command/run.h"
#include "platform/backend.h"
#include "policy/options.h"
#include "violations/violation.h"

struct session;

/* What a session says of its network, beside what its runs report. Each may be NULL. */
struct session_calls {
    /* Something was refused to nobody knows which run; the first of its kind. It holds until the function
     * returns. */
    void (*violation)(void *data, const struct violation *violation);
    /* Is that to be reached? session_answer tells, not before this has returned; unless withdraw has taken
     * the question back. */
    void (*ask)(void *data, uint64_t question, const char *host, uint16_t port);
    void (*withdraw)(void *data, uint64_t question);
    void *data;
};

struct session_config {
    const char *helper;            /* absolute path of the exec helper */
    const char *home;              /* os.homedir() */
    const char *account_home;      /* os.userInfo().homedir where that is another; or NULL */
    const char *tmpdir;            /* os.tmpdir() */
    const char *search_path;       /* PATH, for the platform's own programs */
    bool foreground;               /* of a command line: runs can be on its terminal, in its process group */
    bool unprobed;                 /* the first command is to show what the host can do, see session_probe */
    const struct options *options; /* network, monitor_violations, ignore; must outlive the session */
    const char *upstream_proxy; /* URL of the proxy that the host itself goes by, as its environment has it;
                                   or NULL */
    const char *no_proxy;       /* what is reached without it; or NULL */
    struct session_calls calls;
};

/* err is NULL where the session can run commands; else it says why not, and the session is to be disposed. */
typedef void (*session_started_fn)(void *data, const struct error *err);
/* repeated: of those that calls.violation was given; dropped: refusals that it was not told of. */
typedef void (*session_disposed_fn)(void *data, const struct violation_count *repeated, size_t repeated_count,
                                    uint64_t dropped);
typedef void (*session_exposed_fn)(void *data, uint16_t host_port);

/* Copies the configuration and begins. started is called once, later. NULL with err set: not even begun. */
struct session *session_start(uv_loop_t *loop, const struct session_config *config,
                              session_started_fn started, void *data, struct error *err);

/* Why the best that this version can do was refused here, "" where it was not. */
const char *session_degradation(const struct session *session);

/* What starts its commands, for what that can tell of the host. */
const struct backend *session_backend(const struct session *session);

/* Which clients can reach what is allowed. */
enum session_capture {
    CAPTURE_NONE,        /* none: there is no network */
    CAPTURE_PROXY,       /* those that go by the proxy variables */
    CAPTURE_TRANSPARENT, /* all */
};
enum session_capture session_capture(const struct session *session);

/* Why that is not all, "" where it is. */
const char *session_network_gap(const struct session *session);

/* Why the proxy of the host's environment is not used, "" where there is none, or it is. */
const char *session_upstream_gap(const struct session *session);

/*
 * New network rules for connections from now on, those that are open go on. The proxy that the host itself
 * goes by stays. 0, or -1: out of memory, nothing changed.
 */
int session_update_network(struct session *session, const struct options *options);

/* Answers a question of calls.ask; one that nobody waits for any more is ignored. */
void session_answer(struct session *session, uint64_t question, bool allowed);

/*
 * A port of the host's 127.0.0.1 that reaches that port inside. done is called later, once; with 0: there is
 * none. False: there can be none, done is not called.
 */
bool session_expose(struct session *session, uint16_t port, session_exposed_fn done, void *data);

/*
 * Starts a run; it takes what request owns. Events come through the request's callbacks, later and never from
 * inside this call. The run's number, for session_stop; or 0 with err set where nothing was started.
 */
uint64_t session_run(struct session *session, struct run_request *request, struct error *err);

/* This process got the signal: for the run's command, unless that got it, too. */
void session_signal(struct session *session, uint64_t run, int number);

/*
 * For a session that was started unprobed, once a run has failed unstarted: finds out what the host can do,
 * as session_start does otherwise. started is called once, later. False: there is nothing to find out any
 * more, started is not called.
 */
bool session_probe(struct session *session, session_started_fn started, void *data);

/* TERM, then KILL after the run's grace. A number that is no run any more is ignored. */
void session_stop(struct session *session, uint64_t run);

/*
 * Ends every run (each reports an error), the agent and the loop's handles, then calls disposed; the session
 * is freed after that. The started callback is not called any more. Call it once.
 */
void session_dispose(struct session *session, session_disposed_fn disposed, void *data);

#endif
