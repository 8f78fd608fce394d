/*
 * Messages between the addon, the agent and the stages. Sender and receiver come from one build and run on
 * one machine: plain structs over SOCK_SEQPACKET, checked by version and size.
 */
#ifndef OS_SANDBOX_EXEC_WIRE_H
#define OS_SANDBOX_EXEC_WIRE_H

#include <stdint.h>

#include "platform/run_end.h"

#define WIRE_VERSION 4u

/* The agent's end of the addon's socket. */
#define AGENT_SOCKET_FD 3

/* Addon → agent. */
enum agent_request_type { AGENT_START = 1, AGENT_STOP = 2, AGENT_SIGNAL = 3 };

/* What AGENT_START carries by SCM_RIGHTS, in this order. */
enum agent_start_fd {
    START_FD_PAYLOAD,
    START_FD_STDIN,
    START_FD_STDOUT,
    START_FD_STDERR,
    START_FD_EVENTS, /* the write end of the run's event pipe: for the supervisor alone */
    START_FD_COUNT
};

struct agent_request {
    uint32_t version;
    uint32_t type;
    uint64_t run;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
    uint32_t grace_ms;    /* between TERM and KILL */
    uint32_t flags;       /* enum agent_start_flags */
    int32_t signal;       /* AGENT_SIGNAL: what the command line got, for the command */
};

enum agent_start_flags {
    START_SESSION = 1u << 0,    /* enter the session's namespaces; else bwrap makes all of them */
    START_MOUNT_PLAN = 1u << 1, /* mount the plan before bwrap starts, whose arguments then hold none of it */
    START_SUPERVISED = 1u << 2, /* with a supervisor */
    START_FOREGROUND = 1u << 3, /* in the process group and on the terminal of the addon's process */
};

/* Agent → addon. The text is cut to what is used when sent. */
enum agent_event_type {
    AGENT_READY = 1, /* with READY_NETWORK: its descriptors, enum ready_fd */
    AGENT_ENDED = 2,
    AGENT_LISTENER =
        3, /* of a run whose network is its own: the explicit proxy's listener inside comes along */
};

enum agent_ready_flags {
    READY_MOUNT_PLAN = 1u << 0, /* START_MOUNT_PLAN can be asked for */
    READY_NETWORK = 1u << 1, /* the session's network is there, with the process that makes sockets in it */
    READY_GATEWAY = 1u << 2, /* and every address leads to its gateway; text says why not where not */
};

/* What AGENT_READY carries by SCM_RIGHTS with READY_NETWORK, in this order. */
enum ready_fd {
    READY_FD_GATEWAY,   /* to the gateway process (gateway_wire.h) */
    READY_FD_QUESTIONS, /* from the supervisors (question.h) */
    READY_FD_PORTS,     /* the port table's memfd (port_table.h) */
    READY_FD_COUNT
};

#define AGENT_TEXT_MAX RUN_END_TEXT_MAX

struct agent_event {
    uint32_t version;
    uint32_t type;
    uint64_t run;
    uint32_t flags; /* AGENT_ENDED: enum run_end_flags. AGENT_READY: enum agent_ready_flags */
    int32_t status; /* AGENT_ENDED: exit code, 128+n for a signal. AGENT_READY: errno of the session's
                       namespaces, 0 = made */
    int32_t signal; /* AGENT_ENDED: the signal that the command died of, 0: none */
    char text[AGENT_TEXT_MAX];
};

/* Stage → agent, on the run's own socket; and what launches it, before that is there. */
enum stage_event_type {
    STAGE_HELLO = 1,
    STAGE_EXIT = 2,
    STAGE_ERROR = 3,
    STAGE_UNSUPERVISED = 4, /* of a probe; text says why */
    STAGE_UNFILTERED = 5,   /* of a probe; text says why */
    STAGE_LISTENER = 6,     /* of a run whose network is its own: the proxy's listener comes along */
    STAGE_STARTS = 7,       /* of a run in the foreground: from here on there may be a command */
    STAGE_EMPTY_CACHE = 8,  /* ENDED_EMPTY_CACHE */
    STAGE_STOPPED = 9,      /* of a run in the foreground: the command has stopped itself */
};

struct stage_event {
    uint32_t type;
    int32_t status; /* STAGE_EXIT: exit code, 128+n for a signal */
    int32_t signal; /* that one, 0: none */
    char text[AGENT_TEXT_MAX];
};

/*
 * Stage → supervisor, on a socket of their own, once the filter is there: numbers of the stage's descriptors,
 * which the supervisor takes by pidfd_getfd(2) (a message with descriptors would itself be a notified call).
 * The supervisor's answer is an errno; after 0 the stage goes on.
 */
struct supervisor_hello {
    int32_t listener;  /* -1: there can be none here */
    int32_t unix_diag; /* a NETLINK_SOCK_DIAG socket of the run's network; -1: none */
    int32_t landlock;  /* not 0: the kernel refuses new names, and writing but beneath /dev (landlock.h) */
    uint64_t sample;   /* where the stage's memory holds SUPERVISOR_SAMPLE: whether it can be read */
};
#define SUPERVISOR_SAMPLE 0x6f732d73616e6462u

struct supervisor_ready {
    int32_t status;
};

/* Agent → stage: a signal for the command's process group; in the foreground for the command alone. */
struct stage_request {
    int32_t signal;
    uint32_t
        passed_on; /* not 0: the command line got it, and where its whole group did, so has the command */
};

/* Descriptors as bwrap and the stage find them. */
enum launch_fd {
    LAUNCH_FD_DIAGNOSTICS = 2, /* bwrap's stderr: a memfd that cannot grow */
    LAUNCH_FD_ARGUMENTS = 3,   /* bwrap --args */
    LAUNCH_FD_CONTROL = 4,
    LAUNCH_FD_HELPER = 5,
    LAUNCH_FD_STDIN = 6,
    LAUNCH_FD_STDOUT = 7,
    LAUNCH_FD_STDERR = 8,
    LAUNCH_FD_PAYLOAD = 9,
    LAUNCH_FD_SUPERVISOR = 10, /* the stage's end of the socket to its supervisor */
    LAUNCH_FD_FIRST_MASK = 11, /* one descriptor of /dev/null per masked file */
};

#define LAUNCH_HELPER_PATH "/proc/self/fd/5"

#endif
