/*
 * Whose a connection is. A supervisor notes it by the local port right after its connect(), which may be a
 * moment after the accept here; where there is no supervision the gateway's process looks for the socket.
 */
#ifndef OS_SANDBOX_NETWORK_OWNER_SEARCH_H
#define OS_SANDBOX_NETWORK_OWNER_SEARCH_H

#include "network/network_internal.h"

/* The table is looked at again each millisecond, for so long. */
#define OWNER_SEARCH_MS 50u
/* When a note is there: the supervisor writes it before the command goes on. Of the clock's milliseconds the
 * first may be short. */
#define OWNER_NOTED_MS 4u

struct owner_request;

/* Part of what is searched for. */
struct owner_search {
    struct link link; /* while the table is looked at again */
    struct network *network;
    struct sockaddr_storage peer;
    enum port_transport transport;
    uint16_t port;
    uint64_t from_ms; /* what the table has then is this connection's */
    uint64_t until_ms;
    bool settled; /* owner is what can be known */
    bool needed;
    struct port_owner owner;
    struct owner_request *request; /* to the gateway; or NULL */
    void (*found)(struct owner_search *search);
};

/* Looks, and goes on looking. found is called later if the owner was needed; it may end what is searched for.
 */
void owner_search_begin(struct owner_search *search, struct network *network,
                        const struct sockaddr_storage *peer, void (*found)(struct owner_search *search));

/* The owner is told by whoever gave the connection: there is nothing to search. */
void owner_search_set(struct owner_search *search, struct network *network, struct port_owner owner);

/* True: it is settled. False: found will be called. */
bool owner_search_need(struct owner_search *search);

/* A last look, now; what is not known then is the only run's that there is, or stays open. */
void owner_search_hurry(struct owner_search *search);

/* found is not called any more. */
void owner_search_end(struct owner_search *search);

/* All that are still looked for in the table, at the network's end. */
void owner_search_give_up(struct network *network);

/* Who sends datagrams from there, as far as that is known at once. */
struct port_owner owner_of_datagram(const struct network *network, const struct sockaddr_storage *peer);

/* uv_timer_cb of network->search_timer. */
void owner_search_on_timer(uv_timer_t *timer);

#endif
