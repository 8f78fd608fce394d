/* The agent: one process per OsSandbox that starts, times, stops and reaps runs, so that Node never forks. */
#ifndef OS_SANDBOX_EXEC_AGENT_H
#define OS_SANDBOX_EXEC_AGENT_H

/* Serves the socket at AGENT_SOCKET_FD until it closes; ends every run then. Returns the process's exit
 * status. */
int agent_main(void);

#endif
