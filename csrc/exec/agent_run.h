/* One run as the agent sees it: from the fork to the last process of its pid namespace. */
#ifndef OS_SANDBOX_EXEC_AGENT_RUN_H
#define OS_SANDBOX_EXEC_AGENT_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/kept.h"
#include "exec/namespaces.h"
#include "exec/port_table.h"
#include "exec/run_cost.h"
#include "exec/session_index.h"
#include "exec/watch.h"
#include "exec/wire.h"

struct agent_run {
    struct agent_run *next;
    int epoll;
    struct port_table *ports; /* NULL: none */
    uint64_t id;
    pid_t bwrap;       /* 0 once reaped */
    pid_t supervisor;  /* 0: none, or reaped */
    pid_t remounter;   /* the child that restores mounts; 0: none, or reaped */
    pid_t checker;     /* the child that looks after what a killed supervisor left; 0: none, or reaped */
    pid_t stage;       /* meaningful while stage_pidfd is there */
    int control;       /* the agent's end of the stage's socket; -1 once it ended */
    int stage_pidfd;   /* -1 before the stage said hello, and once it is gone */
    struct kept *kept; /* NULL: the run was never launched */
    int diagnostics;   /* bwrap's stderr */
    int listener;      /* the proxy's, of a run whose network is its own, until the addon has it; -1 */
    int outputs[2]; /* the command's stdout and stderr: held open, so that Node wakes once, for the end; -1 in
                       the foreground */
    uint64_t deadline_ns; /* when to stop it by itself; 0: never, or done */
    uint64_t give_up_ns;  /* when KILL has had its time; 0: not killed */
    uint64_t kill_at_ns;  /* when TERM has had its time; 0: not stopping */
    uint32_t grace_ms;
    bool foreground;     /* in the process group of a command line */
    bool starting;       /* in the foreground: there may be a command */
    bool group_stopped;  /* and so is the command line */
    bool stopped_itself; /* and it is stopped, which the command line has to be told */
    struct run_cost cost;
    bool stopping;
    bool launched;   /* bwrap was forked */
    bool greeted;    /* the stage said hello */
    bool cut_off;    /* its socket was shut before that */
    bool has_status; /* the stage reported the command's end */
    bool unchecked;  /* its supervisor did not come to its end */
    bool given_up;   /* reported although something of it is left */
    bool reported;   /* the addon knows; only bwrap is still to be reaped */
    struct agent_event ended;
};

struct agent_context {
    int epoll; /* watches control and stage_pidfd of every run, with the run as key */
    int helper;
    struct session_namespaces namespaces;
    struct watch *watch;         /* NULL: no inotify instance could be had */
    struct session_index *index; /* NULL: none could be had */
    int questions;               /* the supervisors' end of the question socket; -1: none */
    struct port_table *ports;    /* NULL: none */
    pid_t group;                 /* the process group of the command line; 0: none */
};

uint64_t monotonic_ns(void);

/*
 * A run of the request; launched at once unless its deadline is over. It takes what it keeps of start_fds,
 * leaving -1. NULL: out of memory. Failures are in run->ended.
 */
struct agent_run *agent_run_start(const struct agent_context *context, const struct agent_request *request,
                                  int *start_fds);

/* A run that could not be kept in mind: over at once, told as any other. NULL: out of memory. */
struct agent_run *agent_run_refused(uint64_t id, const char *why);

/* TERM to the command's group, KILL to everything after the grace; KILL at once where nothing runs yet. */
void agent_run_stop(struct agent_run *run);

/* What the command line got, for the command: unless that got it too, being in the same group. */
void agent_run_signal(struct agent_run *run, int number);

/*
 * KILL to everything; a run whose stage has not said hello gets half a second to end by itself, and is killed
 * by a second call or its tick. Needs no fork and no new descriptor.
 */
void agent_run_kill(struct agent_run *run);

/* Acts on what is due at the time now: the deadline, the end of the grace. */
void agent_run_tick(struct agent_run *run, uint64_t now);

/* When the next tick is due, 0: never. */
uint64_t agent_run_due(const struct agent_run *run);

/* Reads what the stage has said. */
void agent_run_hear(struct agent_run *run);

/* The addon cannot be given the run's listener: without it the run would have no network, and is ended. */
void agent_run_listener_failed(struct agent_run *run, const char *why);

/* To be called when stage_pidfd is readable: the stage and everything inside is gone. */
void agent_run_stage_gone(struct agent_run *run);

/* To be called when bwrap was reaped; usage: with all that it waited for. */
void agent_run_bwrap_gone(struct agent_run *run, int wait_status, const struct rusage *usage);

/*
 * To be called when the supervisor was reaped, or was stopped by somebody (it is killed then): unless it had
 * come to its end with the stage, the run ends with an error.
 */
void agent_run_supervisor_gone(struct agent_run *run, int wait_status);

/*
 * Mounts again what the host took away, once the run has its mounts; to be called when something may have
 * become due. A run for which that cannot be done is ended.
 */
void agent_run_restore(struct agent_run *run);

/* To be called when the child that restores was reaped, or was stopped by somebody (it is killed then). */
void agent_run_restored(struct agent_run *run, int wait_status);

/*
 * Once everything of a run is gone whose supervisor was killed: forks the child that does what was left to do
 * at its end (leftovers.h). To be called when something may have ended.
 */
void agent_run_check(struct agent_run *run, struct session_index *index);

/* True when bwrap is gone without a word from its stage: a child of its may be left, the agent's child now.
 */
bool agent_run_is_orphaned(const struct agent_run *run);

/*
 * True when the run can be reported: no process of it is left inside, which pid 1's own end says too, and
 * what a killed supervisor left was looked at; or KILL has had its time (ENDED_UNCONFIRMED). run->ended is
 * then complete, and the command's output is closed.
 */
bool agent_run_over(struct agent_run *run);

/* True when nothing of it is left that the agent could still hear of: it can be freed. */
bool agent_run_gone(const struct agent_run *run);

void agent_run_free(struct agent_run *run);

#endif
