/* What the parts of the supervisor share: the run, the call that is being decided, its answer. */
#ifndef OS_SANDBOX_EXEC_SUPERVISED_H
#define OS_SANDBOX_EXEC_SUPERVISED_H

#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "exec/payload.h"

struct port_table;
struct report;
struct rules;
struct umask_cache;
struct unix_diag;
struct waiting_calls;

/* A run's network namespace (socket_network.h). */
struct run_network {
    dev_t device;
    ino_t inode;             /* 0: unknown, every socket passes for its own */
    _Atomic uint64_t cookie; /* 0: not known yet */
};

/* How many descriptors may be in flight (passing.h); all 0: as many as the kernel takes. */
struct passing {
    pthread_mutex_t lock; /* while one is sent */
    rlim_t commands;
    rlim_t own;
};

/* One run; shared by the supervisor's threads, constant but for what guards itself. */
struct supervisor {
    const struct payload *payload;
    int listener;
    int stage;                   /* pidfd of the run's pid 1 */
    int root;                    /* O_PATH of the run's root */
    int mounts;                  /* the run's mount namespace: its masks hold until the last call was made */
    bool landlocked;             /* commands make no name, and write to nothing but devices, by themselves */
    bool settles;                /* this kernel wants settle.h */
    bool mounts_stay;            /* they hold in descriptors of folders that outlive the run, too */
    struct unix_diag *unix_diag; /* of the run's network; NULL: none */
    struct unix_diag *host_unix_diag; /* of the host's; NULL: none */
    struct report *report;
    struct umask_cache *umasks;
    struct waiting_calls *waiting;
    struct rules *rules; /* NULL: there are none */
    struct run_network network;
    struct passing passing;
    uint64_t run;
    int questions;            /* to the addon (question.h); -1: none */
    struct port_table *ports; /* NULL: none */
};

/* One notified call of one thread. */
struct call {
    struct supervisor *supervisor;
    uint64_t id;  /* of the notification */
    pid_t thread; /* as the supervisor sees it; 0 is never seen */
    const struct seccomp_data *data;
    int pidfd; /* of the thread, made when first needed (call_pidfd); -1 */
};

struct answer {
    enum answer_kind {
        ANSWER_CONTINUE, /* the kernel makes the call: where nothing but its own rules decides */
        ANSWER_RESULT,   /* value: the result, or a negative errno */
    } kind;
    int64_t value;
};

/* Gives the call its answer; a caller that was killed meanwhile needs none. */
void answer_send(const struct call *call, struct answer answer);

static inline struct answer answer_continue(void) {
    return (struct answer){.kind = ANSWER_CONTINUE, .value = 0};
}
static inline struct answer answer_value(int64_t value) {
    return (struct answer){.kind = ANSWER_RESULT, .value = value};
}
static inline struct answer answer_errno(int errnum) {
    return (struct answer){.kind = ANSWER_RESULT, .value = -(int64_t)errnum};
}

#endif
