#include "network/inbound.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* As many beyond network.maxTunnels are told so; more are reset at once. */
#define EXCESS_MAX 64u

void inbound_hold(struct inbound *inbound) {
    inbound->users++;
}

void inbound_release(struct inbound *inbound) {
    if (--inbound->users > 0)
        return;
    struct network *network = inbound->network;
    free(inbound->head);
    free(inbound->why);
    free(inbound->late_why);
    free(inbound->upstream_head);
    free(inbound);
    network_release(network);
}

static void on_poll_closed(uv_handle_t *handle) {
    inbound_release(handle->data);
}

static void close_poll(struct inbound *inbound) {
    if (!inbound->polled)
        return;
    inbound->polled = false;
    uv_poll_stop(&inbound->poll);
    uv_close((uv_handle_t *)&inbound->poll, on_poll_closed);
}

int inbound_steal_fd(struct inbound *inbound) {
    close_poll(inbound);
    return steal_fd(&inbound->fd);
}

void inbound_set_spare(struct inbound *inbound, bool spare) {
    if (inbound->spare == spare)
        return;
    inbound->spare = spare;
    inbound->network->spare_count += spare ? 1u : -1u;
}

void inbound_end(struct inbound *inbound) {
    if (inbound->state == INBOUND_ENDED)
        return;
    inbound->state = INBOUND_ENDED;
    struct network *network = inbound->network;
    link_remove(&inbound->link);
    inbound_set_spare(inbound, false);
    network->inbound_count--;
    deadlines_remove(&inbound->deadline);
    if (inbound->late_why == NULL)
        owner_search_end(&inbound->owner);
    inbound_leave_question(inbound);
    if (inbound->dial != NULL)
        dial_cancel(inbound->dial);
    inbound->dial = NULL;
    if (inbound->tunnel != NULL)
        tunnel_abort(inbound->tunnel);
    if (inbound->pinned)
        name_pool_unpin(network->names, inbound->judgement.name, deadlines_now());
    inbound->pinned = false;
    if (inbound->rules != NULL)
        rule_set_release(inbound->rules);
    inbound->rules = NULL;
    close_poll(inbound);
    close_fd(&inbound->fd);
    inbound_release(inbound);
}

/* The next close(2) sends a reset. */
static void set_reset(int fd) {
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

void inbound_reset(struct inbound *inbound) {
    if (inbound->fd >= 0)
        set_reset(inbound->fd);
    inbound_end(inbound);
}

static struct inbound *inbound_new(struct network *network, int fd) {
    struct inbound *inbound = calloc(1, sizeof *inbound);
    if (inbound == NULL)
        return NULL;
    network_hold(network);
    inbound->network = network;
    inbound->users = 1;
    inbound->fd = fd;
    inbound->excess = network->inbound_count - network->spare_count >= network->rules->max_tunnels;
    inbound_set_spare(inbound, inbound->excess);
    link_add(&network->inbounds, &inbound->link);
    network->inbound_count++;
    return inbound;
}

static void begin(struct inbound *inbound, enum inbound_place place, const struct sockaddr_storage *local) {
    if (place == INBOUND_PROXY) {
        deadlines_add(&inbound->network->waits[WAIT_REQUEST], &inbound->deadline);
        inbound_read(inbound);
        return;
    }
    inbound->front = &front_raw;
    network_address_read((const struct sockaddr *)local, inbound->wanted.address, &inbound->wanted.port);
    if (place == INBOUND_LOCAL)
        network_judge_local(inbound->network->rules, inbound->wanted.address, inbound->wanted.port,
                            &inbound->judgement);
    inbound_decide(inbound);
}

void inbound_accept(struct network *network, int fd, enum inbound_place place, uint32_t run,
                    const struct sockaddr_storage *local, const struct sockaddr_storage *peer) {
    struct inbound *inbound = NULL;
    if (network->inbound_count < network->rules->max_tunnels + EXCESS_MAX)
        inbound = inbound_new(network, fd);
    if (inbound == NULL) {
        set_reset(fd);
        close(fd);
        return;
    }
    inbound_hold(inbound);
    if (run == 0)
        owner_search_begin(&inbound->owner, network, peer, inbound_on_owner);
    else
        owner_search_set(&inbound->owner, network, (struct port_owner){.run = run});
    begin(inbound, place, local);
    inbound_release(inbound);
}

void inbound_on_lingered(void *data, struct deadline *deadline) {
    (void)data;
    inbound_end(LINK_OWNER(deadline, struct inbound, deadline));
}

void inbound_hurry(struct inbound *inbound) {
    inbound_hold(inbound);
    if (inbound->state == INBOUND_READING)
        inbound_read(inbound);
    owner_search_hurry(&inbound->owner);
    inbound_release(inbound);
}

void inbound_orphan(struct inbound *inbound) {
    if (inbound->state == INBOUND_READING || inbound->state == INBOUND_ASKING)
        inbound_end(inbound);
    else if (inbound->state == INBOUND_DIALING || inbound->state == INBOUND_CARRYING)
        deadlines_add(&inbound->network->waits[WAIT_ORPHAN], &inbound->deadline);
}
