/* One run on the loop: its pipes, its captures, its result. */
#ifndef OS_SANDBOX_COMMAND_RUN_H
#define OS_SANDBOX_COMMAND_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"
#include "command/capture.h"
#include "platform/run_end.h"
#include "policy/options.h"
#include "violations/violation.h"

enum run_stream { RUN_STDOUT = 0, RUN_STDERR = 1, RUN_STREAMS = 2 };

#define RUN_NO_TIMEOUT (-1.0)

struct run_result {
    const struct error *err; /* not NULL: the sandbox failed, the rest means nothing */
    bool has_exit_code;      /* false: timed out, or stopped before it started */
    int exit_code;
    int signal;     /* that the command died of, 0: none */
    bool unstarted; /* err: and it is known that there was no command yet */
    bool timed_out;
    bool unconfirmed;        /* something of it outlives KILL */
    struct capture *streams; /* RUN_STREAMS of them */
    const struct strvec *warnings;
    const char *block; /* the violations, as they go behind the command's stderr; NULL: none */
    const struct violation_count *repeated; /* of those that on_violation was given */
    size_t repeated_count;
    uint64_t dropped;         /* refusals that are in no violation */
    const char *unsupervised; /* a probe found that runs can have no supervisor here: why; else NULL */
    bool unfiltered;          /* and no filter of system calls either */
};

typedef void (*run_output_fn)(void *data, enum run_stream stream, const char *bytes, size_t size);
typedef void (*run_violation_fn)(void *data, const struct violation *violation);
typedef void (*run_done_fn)(void *data, const struct run_result *result);

struct run_request {
    struct strvec argv;    /* empty: a probe */
    struct strvec env;     /* NAME=value */
    struct strvec own_env; /* those of env that are the caller's own, and names that it took away */
    char *machine_cwd;     /* absolute; a write root, and what relative entries are relative to */
    char *cwd;             /* where the command starts; absolute */
    struct strvec additional_dirs;
    const struct options *options; /* must outlive the run */
    char *command;                 /* the text that ignoreViolations is about; NULL: "" */
    char *stdin_data;              /* NULL: /dev/null */
    size_t stdin_size;
    bool foreground;    /* its stdio are these descriptors; nothing is captured, and it is on our terminal */
    int descriptors[3]; /* read while it is prepared; what is not open is /dev/null */
    double timeout_ms;  /* RUN_NO_TIMEOUT: none */
    size_t max_output_bytes;
    uint32_t grace_ms;
    run_output_fn on_output;       /* NULL: not streamed */
    run_violation_fn on_violation; /* a violation as it happens, once for each that counts; may be NULL */
    run_done_fn on_done;
    void (*on_gone)(void *data); /* nothing uses options and data any more; may be NULL */
    void *data;
};

void run_request_clear(struct run_request *request);

struct run;
struct session;

/* For the session. */
struct run *run_create(struct session *session, uint64_t id, struct run_request *request);
uint64_t run_id(const struct run *run);
struct run *run_next(const struct run *run);
void run_set_next(struct run *run, struct run *next);

/* Begins, on a thread of the pool. */
void run_prepare(struct run *run);

/* Tells the backend what it has not been told yet: a prepared start, a stop. False: not now, later again. */
bool run_flush(struct run *run);

/* The caller wants it to end. */
void run_stop(struct run *run);

/* This process got it: for the command. */
void run_signal(struct run *run, int number);

/* Every process of the run is gone. */
void run_ended(struct run *run, const struct run_end *end);

/* The network refused it something. False: it is over, and has told all that it will. */
bool run_note(struct run *run, const struct violation *violation);

/* The sandbox cannot go on: the run ends with this error. */
void run_fail(struct run *run, const struct error *err);

#endif
