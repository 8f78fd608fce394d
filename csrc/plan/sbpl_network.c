#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "plan/sbpl_internal.h"
#include "plan/sbpl_regex.h"

/* Below these the sockets of other programs lie, the agents of launchd(8) and ssh(1) among them. */
static const char *const shared[] = {"/",        "/tmp",         "/private",         "/private/tmp", "/var",
                                     "/var/run", "/private/var", "/private/var/run", "/run"};

static bool is_shared(const struct sbpl_request *request, const char *folder) {
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (strcmp(folder, shared[i]) == 0)
            return true;
    return path_is_within(request->home, folder) ||
           (request->account_home != NULL && path_is_within(request->account_home, folder));
}

static void add_sockets(struct sbpl_rule *rule, const char *side, const char *kind, const char *argument) {
    sbpl_rule_filter(rule);
    sbpl_text_add(rule->out, "(");
    sbpl_text_add(rule->out, side);
    sbpl_text_add(rule->out, " unix-socket (");
    sbpl_text_add(rule->out, kind);
    sbpl_text_add(rule->out, " ");
    sbpl_text_add_string(rule->out, argument);
    sbpl_text_add(rule->out, "))");
}

static void add_folder(struct sbpl_rule *rule, const char *side, const char *folder) {
    for (enum sbpl_name name = SBPL_NAME_OWN; name < SBPL_NAME_ON_DATA; name++) {
        struct sbpl_text text = {0};
        if (sbpl_text_add_name(&text, folder, name))
            add_sockets(rule, side, "subpath", text.data);
        rule->out->failed = rule->out->failed || text.failed;
        sbpl_text_clear(&text);
    }
}

static bool is_own(const struct sbpl_request *request, const char *folder) {
    return !is_shared(request, folder) && fs_rules_is_writable(request->rules, folder);
}

/* In folders of the command's own. What the rules deny in there is closed by the rules about files. */
static void add_own(struct sbpl_profile *profile, const char *head, const char *side) {
    const struct sbpl_request *request = profile->request;
    struct sbpl_rule rule = sbpl_profile_rule(profile, head);
    for (size_t i = 0; i < request->socket_folders->count; i++)
        if (is_own(request, request->socket_folders->items[i]))
            add_folder(&rule, side, request->socket_folders->items[i]);
    sbpl_rule_end(&rule);
}

/* An entry of base/socket_list.h: a pattern; with a slash at the end, everything below. */
static int add_allowed_socket(struct sbpl_rule *rule, const char *entry, struct error *err) {
    struct sbpl_text pattern = {0};
    struct sbpl_text regex = {0};
    sbpl_text_add(&pattern, entry);
    if (entry[strlen(entry) - 1] == '/')
        sbpl_text_add(&pattern, "**");
    int result =
        pattern.failed ? error_memory(err) : sbpl_regex_of_glob(pattern.data, false, false, &regex, err);
    if (result == 0)
        add_sockets(rule, "remote", "path-regex", regex.data);
    sbpl_text_clear(&pattern);
    sbpl_text_clear(&regex);
    return result;
}

int sbpl_add_allowed_sockets(struct sbpl_profile *profile, struct error *err) {
    const struct strvec *sockets = profile->request->sockets;
    struct sbpl_rule rule = sbpl_profile_rule(profile, "allow network-outbound");
    for (size_t i = 0; i < sockets->count; i++)
        if (sockets->items[i][0] != '\0' && add_allowed_socket(&rule, sockets->items[i], err) != 0)
            return error_wrap(err, "network.allowUnixSockets");
    sbpl_rule_end(&rule);
    return 0;
}

static void add_ports(struct sbpl_profile *profile) {
    const struct sbpl_request *request = profile->request;
    if (request->proxy_port != 0) {
        char rule[96];
        snprintf(rule, sizeof rule, "(allow network-outbound (remote ip \"localhost:%u\"))\n",
                 (unsigned)request->proxy_port);
        sbpl_text_add(&profile->text, rule);
    }
    /* Servers listen on every address, and a listening socket of IPv6 has 127.0.0.1 in its mapped form: only
     * "*" is both. */
    if (request->options->network.allow_local_binding)
        sbpl_text_add(&profile->text, "(allow network-bind network-inbound (local ip \"*:*\"))\n"
                                      "(allow network-outbound (remote ip \"localhost:*\"))\n");
}

void sbpl_add_network(struct sbpl_profile *profile) {
    add_ports(profile);
    add_own(profile, "allow network-bind", "local");
    add_own(profile, "allow network-outbound", "remote");
}
