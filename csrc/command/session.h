/*
 * A session: what one OsSandbox is in C. Starts the agent, finds out what the host can do, starts and stops
 * runs, all on one libuv loop. Knows nothing of JavaScript. Every function is to be called on the loop's
 * thread.
 */
#ifndef OS_SANDBOX_COMMAND_SESSION_H
#define OS_SANDBOX_COMMAND_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/strvec.h"
#include "command/run.h"
#include "plan/bwrap_args.h"

struct session;

struct session_config {
    const char *helper;       /* absolute path of the exec helper */
    const char *home;         /* os.homedir() */
    const char *account_home; /* os.userInfo().homedir where that is another; or NULL */
    const char *tmpdir;       /* os.tmpdir() */
    const char *search_path;  /* PATH, for bwrap */
};

/* err is NULL where the session can run commands; else it says why not, and the session is to be disposed. */
typedef void (*session_started_fn)(void *data, const struct error *err);
typedef void (*session_disposed_fn)(void *data);

/* Copies the configuration and begins. started is called once, later. NULL with err set: not even begun. */
struct session *session_start(uv_loop_t *loop, const struct session_config *config,
                              session_started_fn started, void *data, struct error *err);

/* Why the best that this version can do was refused here, "" where it was not. */
const char *session_degradation(const struct session *session);

/* Whether runs have a supervisor (refusals are seen, sockets are judged), and at least a system call filter.
 */
bool session_is_supervised(const struct session *session);
bool session_is_filtered(const struct session *session);

/* Why there is no supervisor, "" where there is. */
const char *session_supervision_gap(const struct session *session);

/* What the probe found. */
const struct bwrap_features *session_features(const struct session *session);

/*
 * Starts a run; it takes what request owns. Events come through the request's callbacks, later and never from
 * inside this call. The run's number, for session_stop; or 0 with err set where nothing was started.
 */
uint64_t session_run(struct session *session, struct run_request *request, struct error *err);

/* TERM, then KILL after the run's grace. A number that is no run any more is ignored. */
void session_stop(struct session *session, uint64_t run);

/*
 * Ends every run (each reports an error), the agent and the loop's handles, then calls disposed; the session
 * is freed after that. The started callback is not called any more. Call it once.
 */
void session_dispose(struct session *session, session_disposed_fn disposed, void *data);

#endif
