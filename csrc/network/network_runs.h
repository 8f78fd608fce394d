/* For network_start.c: what depends on whether runs last. */
#ifndef OS_SANDBOX_NETWORK_NETWORK_RUNS_H
#define OS_SANDBOX_NETWORK_NETWORK_RUNS_H

struct network;

/* Opens on the host what commands listen on, or no more: by the rules and the runs as they are now. */
void network_follow_ports(struct network *network);

#endif
