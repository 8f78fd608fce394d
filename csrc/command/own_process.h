/* What a command line does with its own process and its terminal. */
#ifndef OS_SANDBOX_COMMAND_OWN_PROCESS_H
#define OS_SANDBOX_COMMAND_OWN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* Ends this process by the signal, as if nobody handled it, and without a core file. Returns where the signal
 * does not end a process. */
void own_process_die(int number);

struct taken_terminal {
    int fd;
    pid_t group; /* that had it */
    struct termios modes;
};

/*
 * Makes this process's group the foreground of the terminal, in a mode to read lines in. False: it is no
 * terminal of this session's, nothing changed. The descriptor must stay open until it is given back.
 */
bool taken_terminal_take(int fd, struct taken_terminal *out);

/* Puts back what was. */
void taken_terminal_give(const struct taken_terminal *taken);

#endif
