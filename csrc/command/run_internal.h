/* A run, for the files that it is made of. */
#ifndef OS_SANDBOX_COMMAND_RUN_INTERNAL_H
#define OS_SANDBOX_COMMAND_RUN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "base/strvec.h"
#include "command/run.h"
#include "command/stream.h"
#include "platform/backend.h"
#include "violations/collector.h"
#include "violations/tail.h"

enum run_state {
    RUN_PREPARING,
    RUN_WAITING, /* for the backend to be told */
    RUN_RUNNING,
    RUN_ENDING, /* it is over; there may be something to say about it */
    RUN_DONE
};

struct run {
    struct run *next;
    struct session *session;
    enum run_state state;
    struct run_request request;
    struct backend_run start; /* the backend's part of it */
    uv_work_t preparing;
    bool preparing_now;
    uv_timer_t deadline_watch; /* while it is prepared; after that the backend keeps the time */
    bool deadline_watched;
    uv_timer_t ending_watch; /* of its supervisor, which is late */
    bool ending_watched;
    uint64_t ending_read; /* bytes of the event pipe, when that was looked at last */
    struct error prepare_error;
    struct strvec warnings;
    bool stop_wanted;
    bool stop_unsent;
    uint64_t signals_unsent; /* bit n - 1 for signal n */
    struct stream streams[RUN_STREAMS];
    uv_poll_t stdin_watch;
    bool stdin_watched;
    int stdin_fd;
    size_t stdin_done;
    uv_poll_t events_watch;
    bool events_watched;
    int events_fd; /* -1: they come another way */
    struct tail events;
    struct collector violations;
    struct run_end ended;
    bool in_network; /* the network was told of its start, and not of its end */
    unsigned open_handles;
};

/* On a thread of the pool: rules, payload, pipes. What fails is in prepare_error. */
void run_prepare_work(uv_work_t *work);

/* This process's copies of what the command has. */
void run_close_command_ends(struct run *run);

void run_fail_errno(struct run *run, int errnum, const char *what);

/* Stopped before anything was started: as an abort that came before the call, or a timeout of 0. */
void run_finish_unstarted(struct run *run, bool timed_out);

#endif
