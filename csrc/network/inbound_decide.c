#include <stdlib.h>
#include <string.h>

#include "network/inbound.h"

static const char why_refused[] = "refused by network.onAskHost";
static const char why_unanswered[] = "onAskHost did not answer in time";
static const char why_excess[] = "more connections at once than network.maxTunnels";

/* What came of a dial, as fronts tell it. DIAL_REFUSED is a denial. */
static const enum inbound_failure failure_of_dial[] = {
    [DIAL_NOT_FOUND] = FAILURE_NOT_FOUND, [DIAL_UNREACHABLE] = FAILURE_UNREACHABLE,
    [DIAL_TIMED_OUT] = FAILURE_TIMED_OUT, [DIAL_UPSTREAM] = FAILURE_GATEWAY,
    [DIAL_BROKEN] = FAILURE_GATEWAY,
};

static void report_now(struct inbound *inbound, const char *why) {
    char host[DOMAIN_NAME_MAX + 1];
    network_target_host(&inbound->judgement.target, host);
    network_report(inbound->network, inbound->owner.owner, host, inbound->judgement.target.port, why);
}

void inbound_report(struct inbound *inbound, const char *why) {
    if (owner_search_need(&inbound->owner)) {
        report_now(inbound, why);
        return;
    }
    if (inbound->late_why != NULL)
        return;
    inbound->late_why = strdup(why);
    if (inbound->late_why != NULL)
        inbound_hold(inbound);
}

/* Its run is known, as far as that can be. */
static void finish_denial(struct inbound *inbound) {
    report_now(inbound, inbound->why);
    if (inbound->state != INBOUND_ENDED)
        inbound->front->denied(inbound);
}

static void deny(struct inbound *inbound, const char *why) {
    deadlines_remove(&inbound->deadline);
    inbound->why = strdup(why);
    if (inbound->why == NULL) {
        inbound_reset(inbound);
        return;
    }
    inbound->state = INBOUND_OWNERLESS;
    if (owner_search_need(&inbound->owner))
        finish_denial(inbound);
}

/* The client's own end is closed when both of the tunnel's are. */
static void on_tunnel_closed(void *data, uint64_t from_client, uint64_t from_upstream) {
    struct inbound *inbound = data;
    (void)from_client;
    (void)from_upstream;
    inbound->tunnel = NULL;
    inbound_end(inbound);
    inbound_release(inbound);
}

static void carry(struct inbound *inbound, int upstream) {
    struct tunnel_end ends[TUNNEL_SIDES] = {[TUNNEL_UPSTREAM] = {.fd = upstream}};
    ends[TUNNEL_CLIENT] = (struct tunnel_end){.fd = inbound_steal_fd(inbound),
                                              .first = inbound->head + inbound->taken,
                                              .first_size = inbound->head_size - inbound->taken};
    inbound->state = INBOUND_CARRYING;
    inbound->front->connected(inbound, ends);
    inbound->tunnel = tunnel_start(inbound->network->tunnels, ends, on_tunnel_closed, inbound);
    if (inbound->tunnel == NULL) {
        inbound_end(inbound);
        return;
    }
    inbound_hold(inbound);
    /* A look may have ended it from inside. */
    if (inbound->state == INBOUND_ENDED)
        tunnel_abort(inbound->tunnel);
    free(inbound->head);
    free(inbound->upstream_head);
    inbound->head = NULL;
    inbound->upstream_head = NULL;
    inbound->head_size = 0;
    inbound->head_capacity = 0;
    inbound->taken = 0;
}

static void on_dialed(void *data, enum dial_result result, int fd, const char *text) {
    struct inbound *inbound = data;
    inbound->dial = NULL;
    inbound_hold(inbound);
    if (result == DIAL_CONNECTED)
        carry(inbound, fd);
    else if (result == DIAL_REFUSED)
        deny(inbound, text);
    else
        inbound->front->failed(inbound, failure_of_dial[result], text);
    inbound_release(inbound);
}

/* The host's port is one that leads inside again, and there, by the same rule, back here: without an end. */
static bool comes_back(const struct inbound *inbound) {
    const struct network_target *target = &inbound->judgement.target;
    bool loopback = network_target_is_address(target) ? ip_address_is_loopback(target->address)
                                                      : network_name_is_localhost(target->name);
    return loopback && inbound->network->exposed != NULL &&
           exposed_ports_have(inbound->network->exposed, target->port);
}

static void dial(struct inbound *inbound) {
    struct network *network = inbound->network;
    deadlines_remove(&inbound->deadline);
    if (inbound->polled)
        uv_poll_stop(&inbound->poll);
    if (comes_back(inbound)) {
        inbound->front->failed(inbound, FAILURE_UNREACHABLE, "the port is the sandbox's own");
        return;
    }
    inbound->state = INBOUND_DIALING;
    struct dial_request request = {.target = inbound->judgement.target,
                                   .rules = inbound->rules->rules,
                                   .upstream = network->has_upstream ? &network->upstream : NULL,
                                   .use_address = inbound->judgement.use_address,
                                   .absolute = inbound->judgement.absolute};
    memcpy(request.address, inbound->judgement.address, sizeof request.address);
    inbound->dial = dial_start_counted(network->loop, &request, &network->dials, on_dialed, inbound);
    if (inbound->dial == NULL)
        inbound->front->failed(inbound, FAILURE_GATEWAY, "out of memory");
}

/* What was answered counts where the rules, as they are now, still leave it open. */
static void go_by_answer(struct inbound *inbound, enum ask_outcome outcome) {
    rule_set_release(inbound->rules);
    inbound->rules = inbound->network->rules;
    inbound->rules->users++;
    network_judge_again(inbound->network, inbound->rules, &inbound->judgement);
    if (inbound->judgement.verdict == NETWORK_DENY)
        deny(inbound, inbound->judgement.why);
    else if (inbound->judgement.verdict == NETWORK_ALLOW || outcome == ASK_ALLOWED)
        dial(inbound);
    else
        deny(inbound, outcome == ASK_REFUSED ? why_refused : why_unanswered);
}

static void on_answered(struct ask_waiter *waiter, enum ask_outcome outcome) {
    struct inbound *inbound = LINK_OWNER(waiter, struct inbound, waiter);
    inbound_hold(inbound);
    go_by_answer(inbound, outcome);
    inbound_release(inbound);
}

void inbound_leave_question(struct inbound *inbound) {
    if (inbound->waiter.question == NULL)
        return;
    ask_book_leave(inbound->network->asks, &inbound->waiter);
    network_arm_asks(inbound->network);
}

/* Its run is known: whom an answer is for. */
static void ask(struct inbound *inbound) {
    struct network *network = inbound->network;
    enum ask_outcome outcome;
    if (inbound->owner.owner.run != 0 && inbound->owner.owner.run == network->ending_run) {
        inbound_reset(inbound);
        return;
    }
    if (ask_book_recall(network->asks, inbound->owner.owner.run, &inbound->judgement.target, &outcome)) {
        go_by_answer(inbound, outcome);
        return;
    }
    inbound->state = INBOUND_ASKING;
    /* A client that gives up is to be noticed; that it ended its side is taken for it. */
    if (!inbound_watch(inbound, UV_DISCONNECT))
        return;
    inbound->waiter.run = inbound->owner.owner.run;
    inbound->waiter.answered = on_answered;
    if (ask_book_wait(network->asks, &inbound->judgement.target, deadlines_now(), &inbound->waiter) != 0)
        inbound_reset(inbound);
    network_arm_asks(network);
}

void inbound_on_owner(struct owner_search *search) {
    struct inbound *inbound = LINK_OWNER(search, struct inbound, owner);
    inbound_hold(inbound);
    if (inbound->late_why != NULL) {
        report_now(inbound, inbound->late_why);
        free(inbound->late_why);
        inbound->late_why = NULL;
        inbound_release(inbound);
    }
    if (inbound->state == INBOUND_OWNERLESS && inbound->why != NULL)
        finish_denial(inbound);
    else if (inbound->state == INBOUND_OWNERLESS)
        ask(inbound);
    inbound_release(inbound);
}

static void keep_rules(struct inbound *inbound) {
    inbound->rules = inbound->network->rules;
    inbound->rules->users++;
    if (inbound->judgement.name == NULL)
        return;
    name_pool_pin(inbound->network->names, inbound->judgement.name);
    inbound->pinned = true;
}

/* Not every front can say why: the report does. */
static void refuse_excess(struct inbound *inbound) {
    inbound_report(inbound, why_excess);
    if (inbound->state != INBOUND_ENDED)
        inbound->front->failed(inbound, FAILURE_TOO_MANY, why_excess);
}

void inbound_decide(struct inbound *inbound) {
    struct network *network = inbound->network;
    deadlines_remove(&inbound->deadline);
    /* One to the loopback inside was decided when it came. */
    if (inbound->judgement.target.port == 0)
        network_judge(network, network->rules, &inbound->wanted, &inbound->judgement);
    keep_rules(inbound);
    if (inbound->judgement.verdict == NETWORK_DENY) {
        deny(inbound, inbound->judgement.why);
        return;
    }
    if (inbound->excess) {
        refuse_excess(inbound);
        return;
    }
    if (inbound->judgement.verdict == NETWORK_ALLOW) {
        dial(inbound);
        return;
    }
    inbound->state = INBOUND_OWNERLESS;
    if (owner_search_need(&inbound->owner))
        ask(inbound);
}
