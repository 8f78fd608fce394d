/* The agent: one process per OsSandbox that starts, times, stops and reaps runs, so that Node never forks. */
#ifndef OS_SANDBOX_EXEC_AGENT_H
#define OS_SANDBOX_EXEC_AGENT_H

#include <stdbool.h>

/*
 * Serves the socket at AGENT_SOCKET_FD until it closes; ends every run then. Returns the process's exit
 * status. foreground: a command line's, in a process group of its own in that one's session.
 */
int agent_main(bool foreground);

#endif
