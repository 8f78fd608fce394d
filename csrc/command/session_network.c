#include "command/session_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/run_internal.h"
#include "command/session_internal.h"

/* Longer than any host takes for some twenty sockets: whatever it waits for does not come. */
#define START_TIMEOUT_MS 10000

/* What the caller asks for, else what the host itself goes by. */
static int choose_upstream(struct session_network *net, const struct session_config *config,
                           struct error *err) {
    const char *wanted = net->options->network.upstream_proxy;
    if (wanted != NULL && strcmp(wanted, "direct") == 0)
        return 0;
    const char *url = wanted != NULL ? wanted : config->upstream_proxy;
    if (url == NULL)
        return 0;
    if (upstream_proxy_parse(url, &net->upstream, &net->upstream_error) != 0) {
        upstream_proxy_clear(&net->upstream);
        return net->upstream_error.kind == ERROR_MEMORY ? error_memory(err) : 0;
    }
    net->has_upstream = true;
    if (config->no_proxy != NULL && (net->upstream.except = strdup(config->no_proxy)) == NULL)
        return error_memory(err);
    return 0;
}

static void on_unattributed(void *data, const struct violation *violation) {
    struct session_network *net = data;
    if (net->calls.violation != NULL)
        net->calls.violation(net->calls.data, violation);
}

int session_network_init(struct session *session, const struct session_config *config, struct error *err) {
    struct session_network *net = &session->net;
    net->options = config->options;
    net->calls = config->calls;
    net->unattributed = (struct collector){.on_violation = on_unattributed, .data = net};
    /* No command is known: the rules for every command hold. */
    if (ignore_list_build(config->options, "", &net->unattributed.ignore) != 0)
        return error_memory(err);
    return choose_upstream(net, config, err);
}

void session_network_clear(struct session_network *net) {
    upstream_proxy_clear(&net->upstream);
    collector_clear(&net->unattributed);
}

static struct run *find_run(const struct session *session, uint32_t number) {
    struct run *run = number == 0 ? NULL : session->runs;
    while (run != NULL && (uint32_t)run_id(run) != number)
        run = run_next(run);
    return run;
}

static void on_denied(void *data, uint32_t number, const struct violation *violation) {
    struct session *session = data;
    struct run *run = find_run(session, number);
    if ((run == NULL || !run_note(run, violation)) && session->net.options->monitor_violations)
        collector_note(&session->net.unattributed, violation);
}

static void on_ask(void *data, uint64_t question, const char *host, uint16_t port) {
    const struct session *session = data;
    const struct session_calls *calls = &session->net.calls;
    /* Where everything ends nobody waits for an answer. */
    if (calls->ask != NULL && session->state != SESSION_DISPOSED)
        calls->ask(calls->data, question, host, port);
}

static void on_withdraw(void *data, uint64_t question) {
    const struct session *session = data;
    const struct session_calls *calls = &session->net.calls;
    if (calls->withdraw != NULL)
        calls->withdraw(calls->data, question);
}

static void on_handle_closed(void *data) {
    struct session *session = data;
    session->open_handles--;
    session_settle_dispose(session);
}

static void on_timer_closed(uv_handle_t *handle) {
    on_handle_closed(handle->data);
}

static void close_network(struct session *session) {
    struct network *network = session->net.network;
    session->net.network = NULL;
    if (network != NULL)
        network_close(network, on_handle_closed, session);
}

static void fail(struct session *session) {
    close_network(session);
    session->net.state = NETWORK_FAILED;
    session_settle_start(session);
}

/* Out of time; or on_ready's own, so that the network is not closed while it is in the call to it. */
static void on_timer(uv_timer_t *timer) {
    struct session *session = timer->data;
    struct session_network *net = &session->net;
    if (net->state != NETWORK_STARTING)
        return;
    if (net->error.kind == ERROR_NONE)
        error_set(&net->error, ERROR_HOST, 0, "it was not ready in time");
    fail(session);
}

/* The loop's time is as old as the JS that ran before. */
static void set_timer(struct session *session, uint64_t ms) {
    uv_update_time(session->loop);
    uv_timer_start(&session->net.timer, on_timer, ms, 0);
}

static void on_ready(void *data, const struct error *err) {
    struct session *session = data;
    struct session_network *net = &session->net;
    if (net->state != NETWORK_STARTING)
        return;
    if (err != NULL) {
        net->error = *err;
        set_timer(session, 0);
        return;
    }
    uv_timer_stop(&net->timer);
    snprintf(net->proxy, sizeof net->proxy, "http://%s:%u", network_proxy_host(net->network),
             (unsigned)network_proxy_port(net->network));
    net->state = NETWORK_UP;
    session_settle_start(session);
}

static bool make_timer(struct session *session) {
    struct session_network *net = &session->net;
    if (net->has_timer)
        return true;
    if (uv_timer_init(session->loop, &net->timer) != 0)
        return false;
    net->timer.data = session;
    uv_unref((uv_handle_t *)&net->timer);
    net->has_timer = true;
    session->open_handles++;
    return true;
}

/* The descriptors are taken. */
static void start(struct session *session, const struct backend_network *given) {
    struct session_network *net = &session->net;
    const struct network_config config = {.loop = session->loop,
                                          .options = net->options,
                                          .upstream = net->has_upstream ? &net->upstream : NULL,
                                          .mode = given->mode,
                                          .gateway = given->gateway,
                                          .questions = given->questions,
                                          .ports = given->ports,
                                          .denied = on_denied,
                                          .ask = on_ask,
                                          .withdraw = on_withdraw,
                                          .data = session};
    net->mode = given->mode;
    net->error = (struct error){0};
    net->proxy[0] = '\0';
    net->state = NETWORK_STARTING;
    bool has_timer = make_timer(session);
    net->network = network_start(&config, on_ready, &net->error);
    if (net->network != NULL)
        session->open_handles++;
    if (net->network == NULL || !has_timer)
        fail(session);
    else
        set_timer(session, START_TIMEOUT_MS);
}

void session_network_take(struct session *session, const struct backend_network *given) {
    struct session_network *net = &session->net;
    if (given->mode != NETWORK_TRANSPARENT)
        error_set(&net->gap, ERROR_HOST, 0, "%s", given->text);
    error_set(&net->error, ERROR_HOST, 0, "%s", given->text);
    if (given->made)
        start(session, given);
}

void session_network_choose(struct session *session) {
    static const struct backend_network none = {
        .mode = NETWORK_PER_RUN, .gateway = -1, .questions = -1, .ports = -1};
    struct session_network *net = &session->net;
    if (!backend_shares_network(session->backend)) {
        close_network(session);
        start(session, &none);
    } else if (net->state == NETWORK_AWAITED) {
        fail(session);
    }
}

bool session_network_is_settled(const struct session *session) {
    return session->net.state == NETWORK_UP || session->net.state == NETWORK_FAILED;
}

void session_network_add_listener(struct session *session, uint64_t run, int listener) {
    struct session_network *net = &session->net;
    if (net->state == NETWORK_UP && net->mode == NETWORK_PER_RUN && find_run(session, (uint32_t)run) != NULL)
        network_add_run_listener(net->network, (uint32_t)run, listener);
    else
        close_fd(&listener);
}

const char *session_network_proxy(const struct session *session) {
    return session->net.proxy[0] == '\0' ? NULL : session->net.proxy;
}

const char *session_network_warning(const struct session *session) {
    const struct session_network *net = &session->net;
    if (net->state != NETWORK_UP || !network_has_lost_gateway(net->network))
        return NULL;
    return "the sandbox's gateway process ended: what the network has open goes on, everything else is "
           "refused; "
           "start another sandbox";
}

void session_network_run_started(struct session *session, uint64_t run) {
    if (session->net.state == NETWORK_UP)
        network_run_started(session->net.network, (uint32_t)run);
}

void session_network_run_ended(struct session *session, uint64_t run) {
    if (session->net.state == NETWORK_UP)
        network_run_ended(session->net.network, (uint32_t)run);
}

void session_network_close(struct session *session) {
    struct session_network *net = &session->net;
    /* First: what is closed may call the callers of session_expose. */
    net->state = NETWORK_FAILED;
    close_network(session);
    if (net->has_timer) {
        net->has_timer = false;
        uv_close((uv_handle_t *)&net->timer, on_timer_closed);
    }
}

enum session_capture session_capture(const struct session *session) {
    const struct session_network *net = &session->net;
    if (net->proxy[0] == '\0')
        return CAPTURE_NONE;
    return net->mode == NETWORK_TRANSPARENT ? CAPTURE_TRANSPARENT : CAPTURE_PROXY;
}

const char *session_network_gap(const struct session *session) {
    return session_capture(session) == CAPTURE_NONE ? session->net.error.text : session->net.gap.text;
}

const char *session_upstream_gap(const struct session *session) {
    return session->net.upstream_error.text;
}

int session_update_network(struct session *session, const struct options *options) {
    return session->net.state == NETWORK_UP ? network_update(session->net.network, options) : 0;
}

void session_answer(struct session *session, uint64_t question, bool allowed) {
    if (session->net.state == NETWORK_UP)
        network_answer(session->net.network, question, allowed);
}

struct expose_request {
    struct session *session;
    session_exposed_fn done;
    void *data;
};

static void on_exposed(void *data, uint16_t host_port) {
    struct expose_request request = *(struct expose_request *)data;
    free(data);
    request.session->net.exposing--;
    session_hold_loop(request.session);
    request.done(request.data, host_port);
}

bool session_expose(struct session *session, uint16_t port, session_exposed_fn done, void *data) {
    const struct session_network *net = &session->net;
    if (net->state != NETWORK_UP || net->mode == NETWORK_PER_RUN)
        return false;
    struct expose_request *request = malloc(sizeof *request);
    if (request == NULL)
        return false;
    *request = (struct expose_request){.session = session, .done = done, .data = data};
    session->net.exposing++;
    session_hold_loop(session);
    network_expose(net->network, port, on_exposed, request);
    return true;
}
