/* What the supervisors ask: whether a connection to a port without a listener shall be made. */
#ifndef OS_SANDBOX_NETWORK_QUESTIONS_H
#define OS_SANDBOX_NETWORK_QUESTIONS_H

#include "network/network_internal.h"

/* Takes network->questions into the loop. 0, or a negative errno. */
int questions_begin(struct network *network);
/* Reads what is there. */
void questions_sweep(struct network *network);
/* Whoever waits for an answer gets none. */
void questions_close(struct network *network);

#endif
