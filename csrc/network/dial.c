#include "network/dial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/address.h"
#include "network/dial_internal.h"

#define TEXT_SIZE 512
/* Of what a name resolves to. */
#define LOOKED_AT_MAX 64u

void dial_gone(struct dial *dial) {
    if (--dial->open > 0)
        return;
    struct dial_account *account = dial->account;
    free(dial);
    if (account != NULL && --account->open == 0 && account->idle != NULL)
        account->idle(account->data);
}

static void on_timer_closed(uv_handle_t *handle) {
    dial_gone(handle->data);
}

/* Lets go of everything; the handles go when the loop has closed them. */
static void stop(struct dial *dial) {
    dial->over = true;
    dial_race_stop(dial);
    dial_connect_stop(dial);
    if (dial->lookup != NULL)
        lookup_cancel(dial->lookup);
    dial->lookup = NULL;
    uv_close((uv_handle_t *)&dial->deadline, on_timer_closed);
    uv_close((uv_handle_t *)&dial->step, on_timer_closed);
}

void dial_finish(struct dial *dial, enum dial_result result, int fd, const char *format, ...) {
    if (dial->over) {
        close_fd(&fd);
        return;
    }
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stop(dial);
    dial->done(dial->data, result, fd, text);
}

void dial_cancel(struct dial *dial) {
    if (!dial->over)
        stop(dial);
}

static void add_address(struct dial *dial, const uint8_t address[IP_ADDRESS_BYTES]) {
    struct dial_addresses *all = &dial->addresses;
    for (unsigned i = 0; i < all->count; i++)
        if (memcmp(all->list[i], address, IP_ADDRESS_BYTES) == 0)
            return;
    if (all->count < DIAL_ADDRESSES_MAX)
        memcpy(all->list[all->count++], address, IP_ADDRESS_BYTES);
}

/* The first address that may not be dialed, and why. */
struct refused {
    const char *why;
    uint8_t address[IP_ADDRESS_BYTES];
};

/* Takes one of the addresses that a name stands for, if it may be dialed. */
static void add_checked(struct dial *dial, const uint8_t address[IP_ADDRESS_BYTES], struct refused *first) {
    const char *why = dial->upstream ? NULL : dial_address_refusal(dial->request.rules, address, dial->port);
    if (why == NULL) {
        add_address(dial, address);
    } else if (first->why == NULL) {
        first->why = why;
        memcpy(first->address, address, IP_ADDRESS_BYTES);
    }
}

/* All addresses of the name are known. */
static void resolved(struct dial *dial, const struct refused *refused) {
    if (dial->addresses.count > 0) {
        dial_race_start(dial);
    } else if (refused->why == dial_unchecked) {
        dial_finish(dial, DIAL_BROKEN, -1, "%s", refused->why);
    } else if (refused->why != NULL) {
        char text[IP_ADDRESS_TEXT];
        ip_address_format(refused->address, text);
        dial_finish(dial, DIAL_REFUSED, -1, "resolves to %s, %s", text, refused->why);
    } else {
        dial_finish(dial, dial->upstream ? DIAL_UPSTREAM : DIAL_NOT_FOUND, -1, "%sno address",
                    dial->upstream ? "the upstream proxy has " : "");
    }
}

static void on_looked_up(void *data, int status, const struct addrinfo *found) {
    struct dial *dial = data;
    dial->lookup = NULL;
    if (status != 0) {
        dial_finish(dial, dial->upstream ? DIAL_UPSTREAM : DIAL_NOT_FOUND, -1, "%sno address: %s",
                    dial->upstream ? "the upstream proxy has " : "", gai_strerror(status));
    } else {
        struct refused refused = {0};
        unsigned looked_at = 0; /* an answer may have thousands, and each costs a moment */
        for (const struct addrinfo *one = found; one != NULL && looked_at < LOOKED_AT_MAX;
             one = one->ai_next, looked_at++) {
            uint8_t address[IP_ADDRESS_BYTES];
            uint16_t port;
            if (one->ai_family != AF_INET && one->ai_family != AF_INET6)
                continue;
            network_address_read(one->ai_addr, address, &port);
            add_checked(dial, address, &refused);
        }
        resolved(dial, &refused);
    }
}

static void on_lookup_gone(void *data) {
    dial_gone(data);
}

static void look_up(struct dial *dial, const char *name) {
    char text[DOMAIN_NAME_MAX + 2];
    snprintf(text, sizeof text, "%s%s", name, dial->request.absolute && !dial->upstream ? "." : "");
    const struct lookup_hooks hooks = {.answered = on_looked_up, .gone = on_lookup_gone, .data = dial};
    struct lookups *shared = dial->account == NULL ? NULL : dial->account->lookups;
    struct lookups *own = shared == NULL ? lookups_new() : NULL;
    struct lookups *all = shared == NULL ? own : shared;
    dial->lookup = all == NULL ? NULL : lookup_start(all, dial->loop, text, &hooks);
    lookups_release(own);
    if (dial->lookup == NULL)
        dial_finish(dial, DIAL_BROKEN, -1, "no memory, or no thread, to look a name up");
    else
        dial->open++;
}

/* This host's own loopback, which no resolver is asked for (RFC 6761, section 6.3). */
static void use_loopback(struct dial *dial) {
    static const uint8_t loopback[][IP_ADDRESS_BYTES] = {{[10] = 0xff, 0xff, 127, 0, 0, 1}, {[15] = 1}};
    struct refused refused = {0};
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++)
        add_checked(dial, loopback[i], &refused);
    resolved(dial, &refused);
}

/* A host that is to be looked up, but where it is an address or localhost. */
static void use_host(struct dial *dial, const char *host) {
    uint8_t address[IP_ADDRESS_BYTES];
    size_t length = strlen(host);
    if (ip_address_parse_v4(host, length, address) || ip_address_parse_v6(host, length, address)) {
        add_address(dial, address);
        dial_race_start(dial);
    } else if (network_name_is_localhost(host)) {
        use_loopback(dial);
    } else {
        look_up(dial, host);
    }
}

/* The address that is to be dialed, where there is one already; NULL: the name counts. */
static const uint8_t *literal(const struct dial_request *request) {
    if (request->use_address)
        return request->address;
    return request->target.name[0] == '\0' ? request->target.address : NULL;
}

static void begin(struct dial *dial) {
    const struct dial_request *request = &dial->request;
    const uint8_t *address = literal(request);
    const char *why =
        address == NULL ? NULL : dial_address_refusal(request->rules, address, request->target.port);
    if (why == dial_unchecked) {
        dial_finish(dial, DIAL_BROKEN, -1, "%s", why);
    } else if (why != NULL && request->target.name[0] != '\0') {
        char text[IP_ADDRESS_TEXT];
        ip_address_format(address, text);
        dial_finish(dial, DIAL_REFUSED, -1, "resolves to %s, %s", text, why);
    } else if (why != NULL) {
        dial_finish(dial, DIAL_REFUSED, -1, "%s", why);
    } else if (request->upstream != NULL && !upstream_proxy_excepts(request->upstream, &request->target)) {
        dial->upstream = true;
        dial->port = request->upstream->port;
        use_host(dial, request->upstream->host);
    } else if (address != NULL) {
        add_address(dial, address);
        dial_race_start(dial);
    } else {
        use_host(dial, request->target.name);
    }
}

static void on_begin(uv_timer_t *timer) {
    begin(timer->data);
}

static void on_deadline(uv_timer_t *timer) {
    struct dial *dial = timer->data;
    dial_finish(dial, DIAL_TIMED_OUT, -1, "%sno connection within %u s",
                dial->upstream ? "through the upstream proxy " : "", DIAL_TIMEOUT_MS / 1000);
}

void dial_race_won(struct dial *dial, int fd) {
    if (dial->upstream)
        dial_connect_start(dial, fd);
    else
        dial_finish(dial, DIAL_CONNECTED, fd, "connected");
}

struct dial *dial_start_counted(uv_loop_t *loop, const struct dial_request *request,
                                struct dial_account *account, dial_done_fn done, void *data) {
    struct dial *dial = calloc(1, sizeof *dial);
    if (dial == NULL)
        return NULL;
    dial->loop = loop;
    dial->request = *request;
    dial->done = done;
    dial->data = data;
    dial->account = account;
    dial->port = request->target.port;
    if (account != NULL)
        account->open++;
    uv_timer_t *const timers[] = {&dial->deadline, &dial->step};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(loop, timers[i]);
        timers[i]->data = dial;
        uv_unref((uv_handle_t *)timers[i]);
        dial->open++;
    }
    uv_update_time(loop); /* after a long callback the loop's time lies in the past, and with it a deadline */
    uv_timer_start(&dial->deadline, on_deadline, DIAL_TIMEOUT_MS, 0);
    uv_timer_start(&dial->step, on_begin, 0, 0);
    return dial;
}

struct dial *dial_start(uv_loop_t *loop, const struct dial_request *request, dial_done_fn done, void *data) {
    return dial_start_counted(loop, request, NULL, done, data);
}
