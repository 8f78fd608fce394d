/*
 * Signals of a command line's process group, in which the stage and the command are as well. The stage has
 * all of them blocked: what is pending for it was sent to the group (or by a command, about whom it then
 * says that it had a signal).
 */
#ifndef OS_SANDBOX_EXEC_GROUP_SIGNALS_H
#define OS_SANDBOX_EXEC_GROUP_SIGNALS_H

#include <stdbool.h>

struct group_signals {
    int status; /* of the stage, proc_pid_status(5) */
};

/* In the stage, before the command is there. 0, or -1 with errno. */
int group_signals_open(struct group_signals *group);

/* In the command's process, while everything is blocked: what the group got before it was there is sent to
 * it. */
void group_signals_take_over(const struct group_signals *group);

/* In the stage, which the command line tells of a signal that it got: whether the command got it itself;
 * asked once for each. */
bool group_signals_had(int number);

/* In the stage: the group got it, and that was not asked for yet. */
bool group_signals_has(int number);

#endif
