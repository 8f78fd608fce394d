/*
 * What the supervisors of a session tell the addon about its network, and the addon them, without a message:
 * in memory that agent, supervisors, gateway and addon share (a memfd of the agent's).
 */
#ifndef OS_SANDBOX_EXEC_PORT_TABLE_H
#define OS_SANDBOX_EXEC_PORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum port_transport { PORT_TCP4, PORT_TCP6, PORT_UDP4, PORT_UDP6, PORT_TRANSPORTS };

/* Who made a connection, by its local port. */
struct port_owner {
    uint32_t run; /* 0: nobody is known. The low bits of the run's number */
    uint32_t pid; /* as the host sees it */
};

/* Where a listener of the addon's waits. */
enum port_place { PORT_GATEWAY, PORT_LOOPBACK, PORT_PLACES };

enum port_table_flags {
    PORT_TABLE_TRANSPARENT = 1u << 0,  /* every address leads to the gateway */
    PORT_TABLE_CLOSED = 1u << 1,       /* no rule allows anything: there is no need to ask */
    PORT_TABLE_ANY_LOOPBACK = 1u << 2, /* ports of the loopback are to be asked for as well */
};

struct port_table;

/* A descriptor of a new one, close-on-exec; -1 with errno. */
int port_table_make(void);
/* Maps it; the descriptor stays the caller's. NULL with errno: also where it is no such table (its size is
 * checked). */
struct port_table *port_table_map(int fd);
void port_table_unmap(struct port_table *table);

/* Supervisor: that run's process made a connection, or sends datagrams, from that port. One atomic store, and
 * a count. */
void port_table_note(struct port_table *table, enum port_transport transport, uint16_t port,
                     struct port_owner owner);
/* Addon: who it was, and the entry is empty again (TCP: a port is used by the next one); or only looked at
 * (UDP). */
struct port_owner port_table_take(struct port_table *table, enum port_transport transport, uint16_t port);
struct port_owner port_table_look(struct port_table *table, enum port_transport transport, uint16_t port);
/* How often port_table_note was called for TCP, and for UDP: whether something may be waiting to be accepted.
 */
uint64_t port_table_noted(const struct port_table *table);

/* Addon: whether there is a listener. Supervisor: asks for one where there is none. */
void port_table_set_listening(struct port_table *table, enum port_place place, uint16_t port, bool listening);
bool port_table_is_listening(const struct port_table *table, enum port_place place, uint16_t port);

void port_table_set_flags(struct port_table *table, uint32_t flags);
uint32_t port_table_flags(const struct port_table *table);

/*
 * Agent: the run's processes are below that one, from its fork until it was reaped; a run that finds no room
 * (there is some for 1,024) stays unknown. Gateway: the run that the process is of, 0: none.
 */
void port_table_add_run(struct port_table *table, uint32_t run, pid_t bwrap);
void port_table_remove_run(struct port_table *table, uint32_t run, pid_t bwrap);
uint32_t port_table_run_of(const struct port_table *table, pid_t bwrap);

#endif
