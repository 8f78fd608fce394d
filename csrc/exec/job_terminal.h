/* The terminal of a command line, which commands may leave in another state than they found it in. */
#ifndef OS_SANDBOX_EXEC_JOB_TERMINAL_H
#define OS_SANDBOX_EXEC_JOB_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct job_terminal {
    int fd;         /* -1: there is none */
    pid_t group;    /* the command line's */
    bool has_modes; /* it was in the foreground */
    struct termios modes;
    int command_line; /* its pidfd; -1: it is not known */
    pid_t stopped;    /* the group that had the terminal when the command stopped itself; 0: none */
};

#define JOB_TERMINAL_NONE ((struct job_terminal){.fd = -1, .command_line = -1})

/* The controlling terminal of this session, as it is now. From here on this process can change it also from
 * the background. */
void job_terminal_open(struct job_terminal *terminal, pid_t group);

/*
 * Once a command and all that it started is gone: where no other job has the terminal, its foreground is the
 * command line's group, and its modes are what they were.
 */
void job_terminal_take_back(const struct job_terminal *terminal);

/* A command stopped itself: the command line stops as well, which the shell that waits for it then sees. */
void job_terminal_stop(struct job_terminal *terminal);

/* The command line goes on. A command in a group of its own, as a shell is, gets back the terminal that it
 * had. */
void job_terminal_continue(struct job_terminal *terminal);

#endif
