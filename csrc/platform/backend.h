/*
 * What starts a session's commands, tells of their end, and ends them: the one seam between csrc/command and
 * a platform. On Linux the exec helper's agent (platform/linux/backend*.c), on macOS sandbox-exec(1)
 * (platform/darwin/backend*.c); the build links one of them. But where it says otherwise every function is to
 * be called on the loop's thread.
 */
#ifndef OS_SANDBOX_PLATFORM_BACKEND_H
#define OS_SANDBOX_PLATFORM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/strvec.h"
#include "network/network.h"
#include "platform/glob_walk.h"
#include "platform/run_end.h"
#include "policy/cost_limits.h"
#include "policy/path_memory.h"
#include "violations/violation.h"

struct backend;
struct run_request;

/* All of it outlives the backend, but for the strings, which are copied. */
struct backend_config {
    const char *helper;        /* absolute path of the exec helper */
    const char *home;          /* os.homedir() */
    const char *account_home;  /* os.userInfo().homedir where that is another; or NULL */
    const char *tmpdir;        /* os.tmpdir() */
    const char *search_path;   /* PATH, for the platform's own programs */
    bool foreground;           /* of a command line: runs can be on its terminal, in its process group */
    struct cost_limits limits; /* of each run */
    struct path_memory *memory;
    struct glob_cache *globs;
};

/* What the session's network is to be begun with; the descriptors are the callee's. */
struct backend_network {
    bool made; /* false: there can be none; text says why */
    enum network_mode mode;
    int gateway; /* -1: none */
    int questions;
    int ports;
    const char *text; /* with NETWORK_SESSION: why there is no gateway */
};

/* Called on the loop, never from inside a function of the backend. */
struct backend_calls {
    /* Rungs can be tried. gap: errno and text of what could not be made; kind ERROR_NONE: nothing. */
    void (*ready)(void *data, const struct error *gap, struct backend_network *network);
    /* The explicit proxy's listener of a run whose network is its own. */
    void (*listener)(void *data, uint64_t run, int fd);
    /* Every process of the run is gone. It holds until the function returns. */
    void (*ended)(void *data, uint64_t run, const struct run_end *end);
    /* Something was refused to it, as the system's log tells (macOS). */
    void (*violation)(void *data, uint64_t run, const struct violation *violation);
    /* What was put off with -EAGAIN can be sent. */
    void (*writable)(void *data);
    /* It has come to its end, asked for or not, and with it everything that it had started. */
    void (*gone)(void *data);
    /* One of its handles is closed, see backend_handles. */
    void (*closed)(void *data);
    void *data;
};

/* NULL: out of memory. */
struct backend *backend_new(const struct backend_config *config);

/* When all of its handles are closed. NULL is fine. */
void backend_free(struct backend *backend);

/* Begins; on a thread of the pool, since it may block. 0, or -1: there can be no sandbox here. */
int backend_open(struct backend *backend, struct error *err);

/*
 * Goes on after that on the loop: calls are called from now on, gone among them exactly once, whatever comes
 * after it. 0, or a negative errno: it cannot be used, and nothing waits for its end.
 */
int backend_begin(struct backend *backend, uv_loop_t *loop, const struct backend_calls *calls);

/* Whether it holds the loop: somebody waits for something of it. */
void backend_hold(struct backend *backend, bool held);

/* Ends it, and all that it has started; gone is called when that is so. Before backend_begin: nothing. */
void backend_close(struct backend *backend);

/* How many of its handles are open: the session is not freed before calls.closed has come for each. */
unsigned backend_handles(const struct backend *backend);

/* --- what it can do here --- */

/*
 * Takes the first rung of its ladder, from *rung on, that can be had; *rung is that one then. Runs that begin
 * now are on it. False: there is none any more.
 */
bool backend_choose(struct backend *backend, unsigned *rung);

/* What a probe on the chosen rung told of supervision: text of ENDED_UNSUPERVISED. */
void backend_learn(struct backend *backend, const char *unsupervised, bool unfiltered);

/* Whether the runs of a session share one network on the chosen rung. */
bool backend_shares_network(const struct backend *backend);

/* Features in JavaScript's words. They are constant; out has room for BACKEND_FEATURES_MAX. The count. */
struct backend_feature {
    const char *name;
    bool has;
};
#define BACKEND_FEATURES_MAX 8
size_t backend_features(const struct backend *backend, struct backend_feature *out);

/* Says of a failure to start, in whosever words, what in this host is the reason, where that is known. */
void backend_explain(const char *text, struct error *err);

/* Why refusals are not seen or not reported, "" where they are. */
const char *backend_supervision_gap(const struct backend *backend);

/* What is between a run and its limits. */
enum backend_limits {
    LIMITS_NONE,    /* there are none */
    LIMITS_PROCESS, /* limits of single processes, and what is counted beside the command */
    LIMITS_CGROUP,
};
enum backend_limits backend_limits(const struct backend *backend);

/* Why that is no cgroup, "" where it is, or none is of use. */
const char *backend_limits_gap(const struct backend *backend);

/* --- one run --- */

/* What command/run.c and the backend both know of it. */
struct backend_run {
    uint64_t id;
    struct run_request *request;
    int stdio[3];         /* the command's ends; -1: /dev/null. Closed by the caller once it was started */
    int events;           /* where refusals are written to; -1: nowhere */
    uint64_t deadline_ns; /* uv_hrtime(); 0: none */
    const char *proxy;    /* URL of the explicit proxy, as the run reaches it; NULL: there is no network */
    bool every_client;    /* clients that do not know of the proxy get through as well */
    int payload;          /* the backend's own, -1: none (Linux) */
    void *prepared;       /* the same, as memory; NULL: none (macOS) */
};

/* Whether it wants a pipe for the run's events (backend_run.events). */
bool backend_has_event_pipe(const struct backend *backend);

/* Everything that can be done before it starts; on a thread of the pool. 0, or -1. */
int backend_prepare(struct backend *backend, struct backend_run *run, struct strvec *warnings,
                    struct error *err);

/* 0: calls.ended tells of its end. -EAGAIN: later again. Another negative errno with *what: it failed. */
int backend_start(struct backend *backend, struct backend_run *run, const char **what);

/* What was prepared is not needed any more. */
void backend_unprepare(struct backend *backend, struct backend_run *run);

/* TERM, and KILL after the run's grace. 0, or -EAGAIN: later again. */
int backend_stop(struct backend *backend, uint64_t run);

/* This process got the signal: for the run's command, unless that got it, too. 0, or -EAGAIN. */
int backend_signal(struct backend *backend, uint64_t run, int number);

/* How many milliseconds the result of a run that has ended may wait for its refusals: those come by another
 * way than the end (macOS). 0: all have come, or the event pipe tells. */
unsigned backend_ending_wait(const struct backend *backend, const struct run_end *end, bool has_violations);

#endif
