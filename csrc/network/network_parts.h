/* For network_start.c: the parts of a network that network.c makes and frees. */
#ifndef OS_SANDBOX_NETWORK_NETWORK_PARTS_H
#define OS_SANDBOX_NETWORK_NETWORK_PARTS_H

struct ask_book;
struct network;

void network_make_lists(struct network *network);

/* 0, or a negative errno of libuv. */
int network_make_timers(struct network *network);

/* With the network as its asker. NULL: out of memory. */
struct ask_book *network_ask_book(struct network *network);

/* All that has no handle. */
void network_free(struct network *network);

#endif
