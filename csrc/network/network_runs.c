/* The runs of a network: whose refusals are reported, and what their ends mean. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "network/dns_server.h"
#include "network/dns_stream.h"
#include "network/inbound.h"
#include "network/listeners.h"
#include "network/network_internal.h"
#include "network/network_runs.h"
#include "network/ports.h"
#include "network/questions.h"

#define LIVE_RUNS_FIRST 16u

uint32_t network_sole_run(const struct network *network) {
    return network->live_count == 1 ? network->live_runs[0] : 0;
}

/* The process's name as the kernel has it (proc(5), comm): the command chose its bytes. */
static void read_process_name(uint32_t pid, char name[64]) {
    char path[64];
    name[0] = '\0';
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    cleanup_fd int fd = pid == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, name, 63);
    name[size < 0 ? 0 : size] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (char *c = name; *c != '\0'; c++)
        if (!isascii((unsigned char)*c) || !isprint((unsigned char)*c))
            *c = '?';
}

void network_report(struct network *network, struct port_owner owner, const char *host, uint16_t port,
                    const char *why) {
    char process[64];
    struct timespec now;
    if (network->closing)
        return;
    read_process_name(owner.pid, process);
    clock_gettime(CLOCK_REALTIME, &now);
    struct violation violation = {.operation = "network-outbound",
                                  .host = host,
                                  .port = port,
                                  .why = why,
                                  .pid = (int32_t)owner.pid,
                                  .process = process,
                                  .time_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000};
    network->denied(network->data, owner.run, &violation);
}

static bool is_own_port(void *data, uint16_t port) {
    return listeners_have_loopback(data, port);
}

void network_follow_ports(struct network *network) {
    if (network->exposed != NULL)
        exposed_ports_follow(network->exposed, network->rules->follows && network->live_count > 0,
                             is_own_port, network);
}

/* The host may have another resolver now: one on the loopback is to be served inside, too. */
static void on_files_read(void *data) {
    struct network *network = data;
    if (!network->closing)
        ports_open_resolvers(network, false);
    network_release(network);
}

void network_refresh_files(struct network *network) {
    if (!network->closing && host_files_refresh(&network->files, network->loop, on_files_read, network))
        network_hold(network);
}

void network_run_started(struct network *network, uint32_t run) {
    if (network->closing)
        return;
    if (network->live_count == network->live_capacity) {
        size_t capacity = network->live_capacity == 0 ? LIVE_RUNS_FIRST : network->live_capacity * 2;
        uint32_t *runs = realloc(network->live_runs, capacity * sizeof *runs);
        /* Without memory it is not known to be alone: nothing is laid to the wrong one. */
        if (runs == NULL)
            return;
        network->live_runs = runs;
        network->live_capacity = capacity;
    }
    network->live_runs[network->live_count++] = run;
    network_refresh_files(network);
    ports_open_local(network, false);
    network_follow_ports(network);
}

static void forget_run(struct network *network, uint32_t run) {
    for (size_t i = 0; i < network->live_count; i++)
        if (network->live_runs[i] == run) {
            network->live_runs[i] = network->live_runs[--network->live_count];
            return;
        }
}

/* Calls it for every connection there is. It may end any of them, and the network. */
static void each_inbound(struct network *network, uint32_t run,
                         void (*call)(struct inbound *inbound, uint32_t run)) {
    uint64_t sweep = ++network->sweeps;
    for (struct link *at = network->inbounds.next; at != &network->inbounds;) {
        struct inbound *inbound = LINK_OWNER(at, struct inbound, link);
        struct inbound *next =
            at->next == &network->inbounds ? NULL : LINK_OWNER(at->next, struct inbound, link);
        if (next != NULL)
            inbound_hold(next);
        if (inbound->swept != sweep) {
            inbound->swept = sweep;
            call(inbound, run);
        }
        at = next == NULL ? &network->inbounds : &next->link;
        if (next == NULL)
            continue;
        if (next->state == INBOUND_ENDED)
            at = network->inbounds.next;
        inbound_release(next);
    }
}

static void hurry(struct inbound *inbound, uint32_t run) {
    if (!inbound->owner.settled || inbound->owner.owner.run == run)
        inbound_hurry(inbound);
}

static void orphan(struct inbound *inbound, uint32_t run) {
    if (inbound->owner.settled && inbound->owner.owner.run == run)
        inbound_orphan(inbound);
}

/* What the run's processes sent before they ended: all of it is there to be read. */
static void sweep_network(struct network *network, uint32_t run) {
    uint64_t noted = network->ports == NULL ? 0 : port_table_noted(network->ports);
    if (network->ports == NULL || noted != network->ports_noted)
        listeners_sweep(network);
    network->ports_noted = noted;
    dns_sockets_sweep(network);
    dns_streams_sweep(network);
    questions_sweep(network);
    each_inbound(network, run, hurry);
}

void network_run_ended(struct network *network, uint32_t run) {
    if (network->closing)
        return;
    network->ending_run = run;
    sweep_network(network, run);
    each_inbound(network, run, orphan);
    network->ending_run = 0;
    if (network->closing)
        return;
    ask_book_forget_run(network->asks, run);
    network_arm_asks(network);
    listeners_close_run(network, run);
    forget_run(network, run);
    network_follow_ports(network);
    if (network->exposed != NULL)
        exposed_ports_heard(network->exposed);
}
