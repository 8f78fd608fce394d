#include "network/tls_look.h"

#include <stdio.h>
#include <string.h>

#include "network/inbound.h"
#include "protocol/tls_hello.h"

/* A client found the address in the hosts file by another name than the one that was decided. */
static bool is_alias(const struct inbound *inbound, const struct network_target *named) {
    struct strvec names = {0};
    bool found = false;
    if (!inbound->judgement.use_address || network_target_is_address(named) ||
        network_rules_decide(inbound->rules->rules, named).verdict != NETWORK_ALLOW)
        return false;
    bool complete = host_files_names(&inbound->network->files, inbound->judgement.address, &names) == 0;
    for (size_t i = 0; complete && i < names.count && !found; i++)
        found = strcmp(names.items[i], named->name) == 0;
    strvec_clear(&names);
    return found;
}

/* NULL: the name is the allowed one; else why it is not, which may lie in text. */
static const char *name_refusal(const struct inbound *inbound, const char *name, char text[320]) {
    const struct network_target *allowed = &inbound->judgement.target;
    struct network_target named;
    if (network_target_parse(name, strlen(name), allowed->port, &named) == 0) {
        if (network_target_equal(&named, allowed))
            return NULL;
        if (network_target_is_address(allowed) &&
            network_rules_decide(inbound->rules->rules, &named).verdict == NETWORK_ALLOW)
            return NULL;
        if (is_alias(inbound, &named))
            return NULL;
    }
    snprintf(text, 320, "the TLS server name is %s", name);
    return text;
}

static enum tunnel_next pass(struct tunnel_view *view) {
    view->taken = view->size;
    return TUNNEL_PASS;
}

static enum tunnel_next refuse(struct inbound *inbound, const char *why) {
    inbound_report(inbound, why);
    return TUNNEL_CLOSE;
}

enum tunnel_next tls_look(void *data, struct tunnel_view *view) {
    struct inbound *inbound = data;
    char name[256];
    char text[320];
    if (inbound->state == INBOUND_ENDED)
        return TUNNEL_CLOSE;
    if (view->size == 0)
        return view->ended ? TUNNEL_PASS : TUNNEL_MORE;
    switch (tls_hello_server_name(view->bytes, view->size, name)) {
    case TLS_HELLO_NOT_TLS:
        return pass(view);
    case TLS_HELLO_NAMED: {
        const char *why = name_refusal(inbound, name, text);
        return why == NULL ? pass(view) : refuse(inbound, why);
    }
    case TLS_HELLO_NAMELESS:
        return refuse(inbound, "no TLS server name");
    case TLS_HELLO_MORE:
        if (!view->ended && view->size < TLS_HELLO_MAX)
            return TUNNEL_MORE;
        break;
    case TLS_HELLO_MALFORMED:
        break;
    }
    return refuse(inbound, "malformed TLS ClientHello");
}
